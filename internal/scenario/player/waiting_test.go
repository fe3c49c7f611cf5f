package player

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// configMaps gives a controller a client of ConfigMaps in default.
func configMaps(run func(ctx context.Context, c oneMap) error) Controller {
	return func(ctx context.Context, cfg *rest.Config) error {
		clients, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		return run(ctx, oneMap{clients.CoreV1().ConfigMaps("default").Patch})
	}
}

// oneMap changes the ConfigMap a.
type oneMap struct {
	patch func(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*corev1.ConfigMap, error)
}

func (m oneMap) say(ctx context.Context, n int) error {
	_, err := m.patch(ctx, "a", types.MergePatchType, fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n), metav1.PatchOptions{})
	return err
}

// sleep lets time pass, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// counts writes 1, 2, 3 and so on, up to a number or without end, each after a time.
func counts(each time.Duration, to int) Controller {
	return configMaps(func(ctx context.Context, m oneMap) error {
		for n := 1; (to == 0 || n <= to) && (each == 0 && ctx.Err() == nil || sleep(ctx, each)); n++ {
			if err := m.say(ctx, n); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	})
}

// makes creates a ConfigMap after a time.
func makes(after time.Duration, name string) Controller {
	return func(ctx context.Context, cfg *rest.Config) error {
		clients, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		if sleep(ctx, after) {
			if _, err := clients.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	}
}

// available sets the condition Available of the Deployment a after a time.
func available(after time.Duration) Controller {
	return func(ctx context.Context, cfg *rest.Config) error {
		clients, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		if sleep(ctx, after) {
			if _, err := clients.AppsV1().Deployments("default").Patch(ctx, "a", types.MergePatchType,
				[]byte(`{"status": {"conditions": [{"type": "Available", "status": "True"}]}}`), metav1.PatchOptions{}, "status"); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	}
}

// What steps that wait find, with a controller beside them. All of it is in virtual time.
func TestWaiting(t *testing.T) {
	const (
		get        = "- get: {apiVersion: v1, kind: ConfigMap, name: a}\n"
		watchesEnd = "- fault: {verb: watch, resource: configmaps, effect: expireWatch}\n"
		deployment = "- create: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {app: a}},\n" +
			"    template: {metadata: {labels: {app: a}},\n      spec: {containers: [{name: a, image: a}]}}}}\n"
		getDeployment = "- get: {apiVersion: apps/v1, kind: Deployment, name: a}\n"
	)
	tests := []struct {
		rule       string
		controller Controller
		steps      string
		want       string // the failure; empty: none
	}{
		{"what a controller does comes true", counts(time.Minute, 5), get + "  eventually: 1h\n  expect: {data: {n: '5'}}\n", ""},
		{"what is true for a moment has been true", counts(0, 500), get + "  eventually: 1h\n  expect: {data: {n: '250'}}\n", ""},
		{"a condition comes true", available(time.Minute), deployment + getDeployment + "  eventually: 1h\n  condition: Available\n" + getDeployment + "  condition: Available=True\n", ""},
		{"a condition does not come true", available(time.Minute), deployment + getDeployment + "  eventually: 30s\n  condition: Available\n",
			"f.yaml:8: step 2: get deployments.apps default/a: not true after 30s: f.yaml:10: the object does not have the condition Available, or any other\n    no changes meanwhile"},
		{"a condition has another status", available(time.Second), deployment + getDeployment + "  eventually: 1h\n  condition: Available\n" + getDeployment + "  condition: Available=False\n",
			"f.yaml:11: step 3: get deployments.apps default/a: f.yaml:12: the condition Available is True, not False"},
		{"a number of objects comes true", counts(time.Minute, 5), "- count: {apiVersion: v1, kind: ConfigMap}\n  options: {labelSelector: none}\n  eventually: 1m\n  expect: 1\n",
			"f.yaml:5: step 1: count configmaps: not true after 1m0s: unexpected answer (-want +got):\n" +
				"    - 1\n    + 0\n    no changes meanwhile"},
		{"what does not come true shows what changed", counts(20*time.Second, 2), get + "  eventually: 1m\n  expect: {data: {n: '3'}}\n",
			`f.yaml:5: step 1: get configmaps default/a: not true after 1m0s: unexpected answer (-want +got):
      data:
    -   n: "3"
    +   n: "2"
    changes meanwhile:
    +20s MODIFIED default/a
        data: + {"n":"1"}
    +40s MODIFIED default/a
        data.n: "1" -> "2"`},
		{"what stays true stays true", counts(time.Minute, 5), get + "  consistently: 2h\n  that: ['!has(answer.data) || int(answer.data.n) < 6']\n", ""},
		{"what ceases to be true shows when", counts(time.Minute, 5), get + "  consistently: 2h\n  that: ['!has(answer.data) || int(answer.data.n) < 2']\n",
			`f.yaml:5: step 1: get configmaps default/a: no longer true after 2m0s: f.yaml:7: !has(answer.data) || int(answer.data.n) < 2 is false, where answer.data.n is "2"
    changes meanwhile:
    +1m0s MODIFIED default/a
        data: + {"n":"1"}
    +2m0s MODIFIED default/a
        data.n: "1" -> "2"`},
		{"what is there at once does not stay away", counts(time.Minute, 5), "- absent: {apiVersion: v1, kind: ConfigMap, name: b}\n  consistently: 2h\n", ""},
		{"what has to be there comes", makes(time.Minute, "b"), "- get: {apiVersion: v1, kind: ConfigMap, name: b}\n  eventually: 1h\n", ""},
		{"what does not come is not there", nil, "- get: {apiVersion: v1, kind: ConfigMap, name: b}\n  eventually: 1h\n",
			"f.yaml:5: step 1: get configmaps default/b: not true after 1h0m0s: the server rejected the request: 404 NotFound: configmaps \"b\" not found\n    no changes meanwhile"},
		{"a watch that ends each time does not stop the time", counts(time.Minute, 5), watchesEnd + get + "  eventually: 24h\n  expect: {data: {n: '6'}}\n",
			`f.yaml:6: step 2: get configmaps default/a: not true after 24h0m0s: unexpected answer (-want +got):
      data:
    -   n: "6"
    +   n: "5"
    no changes meanwhile`},
		{"what comes true while the watch is broken is seen at the next look", counts(time.Minute, 5), watchesEnd + get + "  eventually: 24h\n  expect: {data: {n: '5'}}\n", ""},
		{"what comes true in the last pause is seen", counts(2*time.Second, 1), watchesEnd + get + "  eventually: 2100ms\n  expect: {data: {n: '1'}}\n", ""},
		{"what ceases to be true in the last pause is seen", counts(2*time.Second, 1), watchesEnd + get + "  consistently: 2100ms\n  expect: {data: !absent }\n",
			`f.yaml:6: step 2: get configmaps default/a: not true after 2.1s: unexpected answer (-want +got):
    + data:
    +   n: "1"
    no changes meanwhile`},
		{"a few lists and watches that are refused do no harm", counts(time.Minute, 5),
			"- fault: {verb: list, resource: configmaps, effect: unavailable, times: 2}\n- fault: {verb: watch, resource: configmaps, effect: {dropWatch: 0}, times: 2}\n" +
				get + "  eventually: 24h\n  expect: {data: {n: '5'}}\n", ""},
		{"what could not be watched has not stayed true", nil, "- fault: {verb: list, resource: configmaps, effect: unavailable}\n" +
			"- absent: {apiVersion: v1, kind: ConfigMap, name: b}\n  consistently: 1h\n",
			"f.yaml:6: step 2: absent: not true after 1h0m0s: the objects could not be read; the watch failed at the end: " +
				"GET /api/v1/namespaces/default/configmaps: 503 ServiceUnavailable: apiserver is shutting down\n    no changes meanwhile"},
		{"hours pass at once", counts(time.Hour, 0), "- advance: 48h\n" + get + "  expect: {data: {n: '48'}}\n", ""},
		{"a controller settles", counts(500*time.Millisecond, 7), "- settle: {}\n" + get + "  expect: {data: {n: '7'}}\n", ""},
		{"one that writes all the time does not", counts(500*time.Millisecond, 0), "- settle: {within: 2s}\n",
			`f.yaml:5: step 1: settle: there are still writes after 2s, without a pause of 1s; the last of its 4 writes:
    scenario create configmaps default/a
    player.test patch configmaps default/a: data: added {"n":"1"}
    player.test patch configmaps default/a: data.n: "1" → "2"
    player.test patch configmaps default/a: data.n: "2" → "3"
    player.test patch configmaps default/a: data.n: "3" → "4"`},
		{"one that writes without end is stopped", counts(0, 0), "- settle: {}\n",
			"f.yaml:5: step 1: settle: the controller writes without end: 1000 writes within 1s; the last of its 1000 writes:\n"},
		{"one that fails ends the scenario", func(context.Context, *rest.Config) error { return errors.New("no kind Website") }, "- settle: {}\n",
			"f.yaml:5: step 1: settle: the controller: no kind Website"},
		{"one that panics ends the scenario and says where", func(context.Context, *rest.Config) error { panic("no luck") }, "- settle: {}\n",
			"f.yaml:5: step 1: settle: the controller: panic: no luck\ngoroutine "},
		{"one that returns ends the scenario", func(context.Context, *rest.Config) error { return nil }, "- settle: {}\n",
			"f.yaml:5: step 1: settle: the controller: it returned before the scenario ended"},
		{"one that does not return is a failure", func(ctx context.Context, _ *rest.Config) error {
			<-ctx.Done()
			time.Sleep(time.Minute + time.Millisecond)
			return nil
		}, get, "f.yaml:1: the controller has not returned 1m0s after its context ended"},
		{"what is in the log is shown", counts(time.Hour, 1), "- log: !cel \"'one ' + 'two'\"\n- log: {a: 1}\n" + get + "  expect: {data: {n: '1'}}\n",
			`f.yaml:7: step 3: get configmaps default/a: unexpected answer (-want +got):
    - data:
    -   n: "1"
    the log of the scenario:
    one two
    {"a":1}`},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			f := syntax.Parse("f.yaml", []byte("scenario: s\nsetup:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\nsteps:\n"+test.steps))
			if err := f.Err(); err != nil {
				t.Fatal(err)
			}
			with := Player{Controller: test.controller, Bubble: Bubble(t)}
			result := with.Play(t.Context(), f.Scenarios[0], nil)
			got := ""
			if result.Failure != nil {
				got = result.Failure.String()
			}
			if (strings.HasSuffix(test.want, " writes:\n") || strings.HasSuffix(test.want, "goroutine ")) && strings.HasPrefix(got, test.want) {
				return // which of the thousand, and the numbers in a stack, do not matter
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("failure (-want +got):\n%s", d)
			}
		})
	}
}

// Outside of a bubble time is real, and what only virtual time can do is skipped.
func TestWaitingInRealTime(t *testing.T) {
	const maps = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
	for _, test := range []struct {
		rule, steps, skipped string
		controller           Controller
	}{
		{"an hour does not pass", "- advance: 1h\n", "advance and settle need virtual time, which this cluster does not have", nil},
		{"nor do six minutes", "- absent: {apiVersion: v1, kind: ConfigMap, name: b}\n  consistently: 6m\n", "consistently: 6m0s needs virtual time, which this cluster does not have", nil},
		{"what comes true is seen", "- get: {apiVersion: v1, kind: ConfigMap, name: a}\n  eventually: 1m\n  expect: {data: {n: '500'}}\n", "", counts(0, 500)},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := syntax.Parse("f.yaml", []byte("scenario: s\nsetup:\n"+maps+"steps:\n"+test.steps)).Scenarios[0]
			result := Player{Controller: test.controller}.Play(t.Context(), s, nil)
			if result.Failure != nil || result.Skipped != test.skipped {
				t.Errorf("failure %v, skipped %q, want %q", result.Failure, result.Skipped, test.skipped)
			}
		})
	}
}
