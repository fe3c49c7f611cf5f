package fakecluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/inspect"
)

// react runs a controller until the end of the test: it calls do for each event of CronTabs.
func react(t *testing.T, crons dynamic.ResourceInterface, do func(*unstructured.Unstructured)) {
	t.Helper()
	w, err := crons.Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			if obj, ok := event.Object.(*unstructured.Unstructured); ok {
				do(obj)
			}
		}
	}()
	t.Cleanup(func() {
		w.Stop()
		<-done
	})
}

// patchImage is a write that wakes every controller of CronTabs.
func patchImage(t *testing.T, crons dynamic.ResourceInterface, name, image string) {
	_, err := crons.Patch(context.WithoutCancel(t.Context()), name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"image":%q}}`, image), metav1.PatchOptions{})
	if err != nil {
		t.Error(err)
	}
}

// image is what a controller reads.
func image(obj *unstructured.Unstructured) string {
	image, _, _ := unstructured.NestedString(obj.Object, "spec", "image")
	return image
}

func TestSettleWaitsUntilAControllerHasNothingToDo(t *testing.T) {
	type test func(t *testing.T, busy bool, way ...fakecluster.Option)
	for name, play := range map[string]func(*testing.T, test){
		"in a bubble": func(t *testing.T, f test) {
			synctest.Test(t, func(t *testing.T) { f(t, false, fakecluster.InProcess()) })
		},
		"over sockets": func(t *testing.T, f test) { f(t, true) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, busy bool, way ...fakecluster.Option) {
				c := fakecluster.Start(t, append(way, fakecluster.WithObjects(cronTabDefinition()))...)
				crons := as(c, c.RESTConfig(), "counter")
				react(t, crons, func(obj *unstructured.Unstructured) {
					if n := len(image(obj)); n < 40 {
						time.Sleep(time.Millisecond) // it works
						patchImage(t, crons, obj.GetName(), strings.Repeat("x", n+1))
					}
				})
				must(t, c.Settle(t.Context())) // nothing is to be done yet
				create(t, crons, cronTab("a"))
				must(t, c.Settle(t.Context()))
				for busy && len(image(get(t, crons, "a"))) < 40 { // the machine has looked quiet for 100 ms
					must(t, c.Settle(t.Context()))
				}
				equal(t, "the image", len(image(get(t, crons, "a"))), 40)
			})
		})
	}
}

func TestSettleNamesAnObjectThatIsWrittenWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
		crons := as(c, c.RESTConfig(), "cron-operator")
		var writes atomic.Int64
		react(t, crons, func(obj *unstructured.Unstructured) {
			if n := writes.Add(1); n < 1000 { // so that the test ends if Settle does not see it
				patchImage(t, crons, obj.GetName(), fmt.Sprint("image-", n))
			}
		})
		create(t, crons, cronTab("a"))
		err := c.Settle(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "the cluster does not settle: crontabs.stable.example.com default/a: ") ||
			!strings.Contains(err.Error(), " writes in a row by cron-operator patch (") || !strings.Contains(err.Error(), `; the last: spec.image: "image-`) {
			t.Error(err)
		}
		writes.Store(1000)
	})
}

func TestSettleNamesPendingWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		hold := func(_ context.Context, w *fakecluster.AdmissionRequest) error {
			if w.Object.GetName() == "slow" {
				<-held
			}
			return nil
		}
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()), fakecluster.WithAdmission(hold, nil))
		crons := as(c, c.RESTConfig(), "cron-operator")
		go func() {
			_, _ = crons.Create(context.WithoutCancel(t.Context()), cronTab("slow"), metav1.CreateOptions{})
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := c.Settle(ctx)
		fails(t, "a request in flight", err, "the cluster has not settled: context deadline exceeded: no answer yet: cron-operator create crontabs.stable.example.com in default: no answer")
		equal(t, "the error of the context", errors.Is(err, context.DeadlineExceeded), true)
		close(held)
		must(t, c.Settle(t.Context()))

		// A client that reads all the time and writes nothing.
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute+250*time.Millisecond) // between two requests
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				_, _ = crons.Get(ctx, "slow", metav1.GetOptions{})
				time.Sleep(500 * time.Millisecond)
			}
		}()
		fails(t, "no pause", c.Settle(ctx), "the cluster has not settled: context deadline exceeded: the last request came less than 1s ago; 0 revisions were written meanwhile")
	})
}

func TestStatsCountTheRequestsOfEachClient(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
	crons := as(c, c.RESTConfig(), "cron-operator")
	a := create(t, crons, cronTab("a"))
	patchImage(t, crons, "a", "x")
	patchImage(t, crons, "a", "x")
	before := c.Stats()
	_, err := crons.Update(t.Context(), a, metav1.UpdateOptions{})
	if err == nil {
		t.Error("no conflict")
	}
	list(t, as(c, c.ConfigFor("jane", "system:masters"), "kubectl"))
	equal(t, "all", c.Stats().String(), `cron-operator create crontabs.stable.example.com: 1, revisions 1
cron-operator patch crontabs.stable.example.com: 2, changed nothing 1, revisions 1
cron-operator update crontabs.stable.example.com: 1, failures 1, conflicts 1
kubectl list crontabs.stable.example.com: 1
`)
	equal(t, "since", c.Stats().Since(before).String(), `cron-operator update crontabs.stable.example.com: 1, failures 1, conflicts 1
kubectl list crontabs.stable.example.com: 1
`)
	total := c.Stats().Total(func(k inspect.Counted) bool { return k.Client() == "cron-operator" })
	if total.Requests != 4 || total.Received < 300 || total.Sent < 1000 {
		t.Errorf("%+v", total)
	}
	c.ResetStats()
	equal(t, "after a reset", c.Stats().String(), "")
}

func TestReportMetrics(t *testing.T) {
	result := testing.Benchmark(func(b *testing.B) {
		c, err := fakecluster.New(fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		crons := as(c, c.RESTConfig(), "cron-operator")
		if _, err := crons.Create(context.Background(), cronTab("a"), metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
		c.ResetStats()
		for i := range b.N {
			if _, err := crons.Patch(context.Background(), "a", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"image":"%d"}}`, i), metav1.PatchOptions{}); err != nil {
				b.Fatal(err)
			}
		}
		c.ReportMetrics(b)
	})
	for unit, want := range map[string]float64{"requests/op": 1, "patch-requests/op": 1, "revisions/op": 1, "conflicts/op": 0, "events/op": 0} {
		if got, ok := result.Extra[unit]; !ok || got != want {
			t.Errorf("%s: %v, want %v", unit, got, want)
		}
	}
	if result.Extra["sent-B/op"] < 100 || result.Extra["received-B/op"] < 10 {
		t.Errorf("%v", result.Extra)
	}
}

// errors of a test that is allowed to fail.
type failable struct {
	testing.TB
	errors []string
}

func (j *failable) Helper() {}
func (j *failable) Errorf(format string, args ...any) {
	j.errors = append(j.errors, fmt.Sprintf(format, args...))
}

func TestCheckBudget(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
	operator, human := as(c, c.RESTConfig(), "cron-operator"), as(c, c.RESTConfig(), "kubectl")
	a := create(t, operator, cronTab("a"))
	for i := range 3 {
		patchImage(t, operator, "a", fmt.Sprint(i))
	}
	mark, first := c.Requests()[3].Number, fmt.Sprint(c.Requests()[1].Revision)
	patchImage(t, operator, "a", "2")
	_, _ = operator.Update(t.Context(), a, metav1.UpdateOptions{})
	list(t, human)
	_, err := operator.List(t.Context(), metav1.ListOptions{LabelSelector: "a=b"})
	must(t, err)
	check := func(b fakecluster.Budget) string {
		j := &failable{TB: t}
		c.CheckBudget(j, b)
		return strings.Join(j.errors, "\n")
	}
	const broken, patched = "fakecluster: more requests than the budget allows:\n\t", "cron-operator patch crontabs.stable.example.com default/a: 200"
	const conflict = `cron-operator update crontabs.stable.example.com default/a: 409 Conflict: Operation cannot be fulfilled on crontabs.stable.example.com "a": the object has been modified; please apply your changes to the latest version and try again`
	for rule, want := range map[string]struct {
		budget fakecluster.Budget
		says   string
	}{
		"everything is allowed":                {fakecluster.Budget{}, ""},
		"four updates":                         {fakecluster.Budget{UpdatesPerObject: 4}, ""},
		"three updates":                        {fakecluster.Budget{UpdatesPerObject: 3}, broken + "too many updates of an object: cron-operator has written crontabs.stable.example.com default/a 4 times, and the budget allows 3"},
		"one update, later on":                 {fakecluster.Budget{UpdatesPerObject: 1, After: mark}, ""},
		"lists by a selector":                  {fakecluster.Budget{NoBareLists: true}, broken + "a list without a selector: kubectl list crontabs.stable.example.com in default: 200"},
		"another program's lists do not count": {fakecluster.Budget{NoBareLists: true, Client: "cron-operator"}, ""},
		"writes that change something":         {fakecluster.Budget{NoRepeats: true}, broken + "a write that changes nothing: " + patched + ", nothing changed"},
		"no conflicts":                         {fakecluster.Budget{NoConflicts: true}, broken + "a conflict: " + conflict},
		"at rest": {fakecluster.Budget{AtRest: true, Client: "cron-operator", After: mark},
			broken + "a request while the client should be idle: " + patched + ", nothing changed\n\ta request while the client should be idle: " + conflict + "\n\ta request while the client should be idle: cron-operator list crontabs.stable.example.com in default: 200"},
		"at rest, from the beginning": {fakecluster.Budget{AtRest: true, Client: "cron-operator"},
			broken + "a request while the client should be idle: cron-operator create crontabs.stable.example.com in default: 201, revision " + a.GetResourceVersion() + "\n\ta request while the client should be idle: " + patched + ", revision " + first + ", and 2 more like it\n\ta request while the client should be idle: " + patched + ", nothing changed\n\ta request while the client should be idle: " + conflict + "\n\ta request while the client should be idle: cron-operator list crontabs.stable.example.com in default: 200"},
		"at rest, by who does nothing": {fakecluster.Budget{AtRest: true, Client: "kubectl", After: c.Requests()[len(c.Requests())-1].Number}, ""},
	} {
		equal(t, rule, check(want.budget), want.says)
	}
}

// Events that a Hold keeps back are never delivered, and the error says so.
func TestSettleNamesAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
		w, err := as(c, c.RESTConfig(), "operator").Watch(t.Context(), metav1.ListOptions{})
		must(t, err)
		defer w.Stop()
		synctest.Wait()
		hold := c.Hold()
		create(t, as(c, c.RESTConfig(), "jane"), cronTab("a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = c.Settle(ctx)
		const want = "; a Hold of the test keeps events back: call its Deliver or Release"
		if err == nil || !strings.Contains(err.Error(), "not delivered yet: the watch of operator for crontabs.stable.example.com") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("error: %v", err)
		}
		hold.Release()
		must(t, c.Settle(t.Context()))
	})
}
