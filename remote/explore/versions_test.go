//go:build go1.25

package explore_test

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/remote/explore"
)

// seenVersions has the minor versions of Kubernetes that operators have seen.
type seenVersions struct {
	mu   sync.Mutex
	seen map[string]bool
}

// run runs an operator, and notes the version that it sees.
func (v *seenVersions) run(o operator) func(context.Context, *remote.Cluster) error {
	return func(ctx context.Context, c *remote.Cluster) error {
		v.note(ctx, c)
		return o.run(ctx, c)
	}
}

func (v *seenVersions) note(ctx context.Context, c *remote.Cluster) {
	var version struct{ Minor string }
	if (client{c}).do(ctx, "GET", "/version", nil, &version) != nil {
		return // it has been stopped
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen == nil {
		v.seen = map[string]bool{}
	}
	v.seen[version.Minor] = true
}

// An operator, an upgrade and a test are explored as another version of Kubernetes, with the same findings as in that of the host.
func TestExplorationsAsAnotherVersion(t *testing.T) {
	old := []remote.Option{remote.KubernetesVersion("1.34")}
	only34 := map[string]bool{"34": true}

	var correct seenVersions
	s := operator{}.subject()
	s.Run, s.Options, s.Trials = correct.run(operator{}), old, 30
	if found, err := explore.FindOperator(t, s); err != nil || len(found.Findings) > 0 || found.Trials < 20 || !reflect.DeepEqual(correct.seen, only34) {
		t.Errorf("%v, %+v, as %v", err, found, correct.seen)
	}

	for _, options := range [][]remote.Option{nil, old} {
		s := operator{panics: true}.subject()
		s.Options, s.Replay = options, `gadgets.example.com default/a: create; set /spec/mode "Safe"`
		found, err := explore.FindOperator(t, s)
		if err != nil || len(found.Findings) != 1 || found.Findings[0].Oracle != explore.NoPanic || !strings.Contains(found.Findings[0].Report, "no mode (operator_test.go:") {
			t.Errorf("%v, %+v", err, found)
		}

		var noted seenVersions
		f := findRun(t, func(t testing.TB, c *explore.Cluster) {
			noted.note(context.Background(), c.Cluster)
			keeper{remembers: true}.oneSecret(t, c)
		}, explore.With(options...)).Failure
		if f == nil || f.Schedule != t.Name()+": crash-after operator create secrets default/ 1" || noted.seen["34"] != (options != nil) {
			t.Errorf("%+v, as %v", f, noted.seen)
		}
	}

	from, to := operator{}.subject(), operator{prefix: "new-"}.subject()
	from.Options, to.Options, to.Trials = old, old, 6
	found, err := explore.FindUpgrade(t, from, to)
	if err != nil || len(found.Findings) == 0 || found.Findings[0].Oracle != explore.Upgrades {
		t.Errorf("%v, %+v", err, found)
	}
	to.Options = nil
	const want = `kubernetesVersion: the versions of an operator run as one version of Kubernetes, and not as 1.34 and `
	if _, err := explore.FindUpgrade(t, from, to); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	s.Options = []remote.Option{remote.KubernetesVersion("1.3")}
	if _, err := explore.FindOperator(t, s); err == nil || !strings.Contains(err.Error(), `fakecluster does not have Kubernetes "1.3"`) {
		t.Errorf("%v", err)
	}
}

// A panic that is noted in a trial as another version is a finding.
func TestAPanicAsAnotherVersion(t *testing.T) {
	s := operator{}.subject()
	s.Options = []remote.Option{remote.KubernetesVersion("1.34")}
	s.Run = func(ctx context.Context, c *remote.Cluster) error {
		func() {
			defer func() { remote.NotePanic(recover()) }()
			if gadgets, _, err := (client{c}).list(ctx, gadgets); err == nil && len(gadgets) > 0 {
				panic("there is one")
			}
		}()
		return operator{}.run(ctx, c)
	}
	s.Replay = "gadgets.example.com default/a: create; restart"
	found, err := explore.FindOperator(t, s)
	if err != nil || len(found.Findings) != 1 || found.Findings[0].Oracle != explore.NoPanic || !strings.Contains(found.Findings[0].Report, "there is one (") {
		t.Errorf("%v, %+v", err, found)
	}
}
