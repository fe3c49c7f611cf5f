package fieldstest

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

var cases = flag.Int("cases", seedtest.Cases(4_000), "how many `writes` a differential test of field management compares")

// Tally counts the outcomes of writes. For an outcome that begins with "declined",
// upstream's code ran.
type Tally map[string]int

// Play calls play in a synctest bubble until there are enough writes or the test has
// failed, and logs how often each outcome came. Each call has a source of its own, and
// returns how many writes it has made. If more than half of all writes are declined, the
// test fails.
func Play(t *testing.T, play func(t *testing.T, n int, g Generator, tally Tally) int) {
	t.Helper()
	seed := seedtest.Seed(t)
	tally := Tally{}
	synctest.Test(t, func(t *testing.T) {
		for n, done := 0, 0; done < *cases && !t.Failed(); n++ {
			done += play(t, n, Generator{seedtest.Source(seed, n)}, tally)
		}
	})
	total, declined := 0, 0
	for _, n := range tally {
		total += n
	}
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(tally)) {
		if strings.HasPrefix(what, "declined") {
			declined += tally[what]
		}
		lines = append(lines, fmt.Sprintf("%6.2f%% %s", 100*float64(tally[what])/float64(total), what))
	}
	t.Logf("%d writes:\n%s", total, strings.Join(lines, "\n"))
	if declined*2 > total {
		t.Error("the engine declines more than half of the writes")
	}
}

// History is a series of writes to one object.
type History struct {
	*testing.T
	Generator
	Tally Tally
	// IsKey is what Changed is given.
	IsKey func(field string) bool

	crowd          bool                      // there are many managers
	configurations map[string]map[string]any // that managers have applied last
}

// Run calls write n times at most, and lets time pass between some of the calls. It returns
// how many writes there were.
func (h *History) Run(n int, write func(apply bool)) int {
	h.configurations = map[string]map[string]any{}
	if h.crowd = h.One(15); h.crowd {
		n += 25
	}
	for range n {
		if h.One(40) {
			time.Sleep(time.Duration(h.IntN(3)) * time.Second)
		}
		if write(h.One(45)); h.Failed() {
			break
		}
	}
	return n
}

// Manager returns the manager of the next write.
func (h *History) Manager() string {
	if h.crowd {
		return fmt.Sprint("m", h.IntN(16))
	}
	if h.One(3) {
		return seedtest.Pick(h, "", "kubectl", `o"dd<ü`)
	}
	return fmt.Sprint("m", h.IntN(3))
}

// Change returns what an update makes of a live object: it changes all, a little or nothing
// of it to what another object has. It returns nil if the result is not an object.
func (h *History) Change(live, other map[string]any) map[string]any {
	obj, _ := h.Changed(live, other, seedtest.Pick(h, 0, 3, 8, 30), h.IsKey).(map[string]any)
	return obj
}

// Configuration returns what a manager applies: the given configuration, or what it applied
// the last time, changed or not, or the live object, if there is one. It returns nil if the
// result is not an object.
func (h *History) Configuration(manager string, config, live map[string]any) map[string]any {
	if last := h.configurations[manager]; last != nil && h.One(70) {
		if h.One(40) {
			config = runtime.DeepCopyJSON(last)
		} else if changed, ok := h.Changed(last, config, seedtest.Pick(h, 3, 8, 30), h.IsKey).(map[string]any); ok {
			config = changed
		}
	} else if live != nil && h.One(20) {
		config, _ = h.Changed(live, config, 40, h.IsKey).(map[string]any)
	}
	if config != nil {
		h.configurations[manager] = config
	}
	return config
}

// Refusal returns the text of an error, or the empty text for nil. Upstream's causes and
// conflicts are not ordered, so Refusal sorts them. Of several unknown fields upstream names
// any one, or all in any order, so Refusal leaves out their names.
func Refusal(err error) string {
	if err == nil {
		return ""
	}
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		text, _, _ := strings.Cut(err.Error(), "): ")
		return text
	}
	s := status.Status()
	lines := strings.Split(s.Message, "\n")
	slices.Sort(lines)
	s.Message = strings.Join(lines, "\n")
	if s.Details == nil {
		return fmt.Sprintf("%+v", s)
	}
	details := *s.Details
	details.Causes = slices.SortedFunc(slices.Values(details.Causes), func(a, b metav1.StatusCause) int {
		return cmp.Or(strings.Compare(a.Message, b.Message), strings.Compare(a.Field, b.Field))
	})
	s.Details = nil
	return fmt.Sprintf("%+v %+v", s, details)
}
