package explore_test

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
)

// A controller that writes without end is found in the first run, in one sentence: the exploration neither hangs nor tries faults.
func TestEndlessWritersEndTheExploration(t *testing.T) {
	for name, tt := range map[string]struct {
		write func(n *corev1.Namespace)
		want  string
	}{
		"a counter": {
			func(n *corev1.Namespace) { n.Annotations = map[string]string{"n": n.ResourceVersion} },
			`time in the synctest bubble stands still, because of endless writes to namespaces default: \d+ writes in a row by operator update \(\d+\); ` +
				`the last: metadata\.annotations\.n: "\d+" → "\d+"\. Write only what has changed: if !equality\.Semantic\.DeepEqual\(before, after\) { … }`,
		},
		"the time": {
			func(n *corev1.Namespace) {
				n.Annotations = map[string]string{"at": time.Now().UTC().Format(time.RFC3339Nano)}
			},
			`after 1m0s operator writes the time into metadata\.annotations\.at of namespaces default whenever it is called, ` +
				`and its own write calls it again, without end in real time: write the time only if something else changes`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := find(t, func(t testing.TB, c *explore.Cluster) {
				c.Control("operator", c.RESTConfig(), func(ctx context.Context, config *rest.Config) error {
					namespaces := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces()
					events, err := namespaces.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=default"})
					if err != nil {
						return err
					}
					context.AfterFunc(ctx, events.Stop)
					for event := range events.ResultChan() {
						n := event.Object.(*corev1.Namespace)
						tt.write(n)
						_, _ = namespaces.Update(ctx, n, metav1.UpdateOptions{})
					}
					return nil
				})
				c.Wait(time.Minute)
				test := c.Clientset().CoreV1().Namespaces()
				n, err := test.Get(t.Context(), "default", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				n.Labels = map[string]string{"changed": "by-the-test"}
				_, _ = test.Update(t.Context(), n, metav1.UpdateOptions{})
				c.Wait(time.Minute)
			})
			f := result.Failure
			if f == nil || result.Runs != 1 || f.Explanation != "" || !regexp.MustCompile(`(?m)^fakecluster: `+tt.want+`$`).MatchString(f.Log) {
				t.Errorf("%d runs, failure: %+v", result.Runs, f)
			}
		})
	}
}

// An operator that reads again and again, without a pause that a user would choose, is one that does not come to rest.
func TestALoopOfReadsIsFound(t *testing.T) {
	for pause, want := range map[time.Duration]int{10 * time.Millisecond: 1, time.Second: 0} {
		s := gadgetOperator{}.subject()
		s.Roles = nil
		run := s.Run
		s.Run = func(ctx context.Context, config *rest.Config) error {
			gadgets := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"})
			go func() {
				for ctx.Err() == nil {
					if _, err := gadgets.Namespace("default").Get(ctx, "a", metav1.GetOptions{}); err == nil {
						time.Sleep(pause)
					} else {
						time.Sleep(time.Second)
					}
				}
			}()
			return run(ctx, config)
		}
		s.Trials = 4
		found := findIn(t, s)
		if len(found.Findings) != want {
			t.Errorf("each %v: %s: %+v", pause, found, found.Findings)
			continue
		}
		const text = "the operator sends requests in a loop: \\d+ within 1m15s, which change nothing; most of them get gadgets.example.com default/a. Wait for a change with a watch, or longer"
		if want == 1 && !regexp.MustCompile(text).MatchString(found.Findings[0].What) {
			t.Error(found.Findings[0].Report)
		}
	}
}

// An operator that never rests is watched for a quarter of an hour until that is a finding. Later trials in which it still makes the same writes are shorter, because
// nothing else takes so long.
func TestTrialsAreShorterOnceTheOperatorIsKnownToBeRestless(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it explores for ten seconds")
	}
	s := gadgetOperator{before: func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (bool, error) {
		gadget.SetAnnotations(map[string]string{"example.com/seen": gadget.GetResourceVersion()})
		_, err := client.Resource(gadgets).Namespace("default").Update(ctx, gadget, metav1.UpdateOptions{})
		return false, err
	}}.subject()
	s.Roles, s.Trials, s.Without = nil, 3, []explore.Oracle{explore.KeepsSpec, explore.QuietWrites, explore.TruthfulStatus}
	var mu sync.Mutex
	var lasted []time.Duration // minutes of virtual time
	run := s.Run
	s.Run = func(ctx context.Context, config *rest.Config) error {
		began := time.Now()
		err := run(ctx, config)
		mu.Lock()
		defer mu.Unlock()
		lasted = append(lasted, time.Since(began).Truncate(time.Minute))
		return err
	}
	found, _ := explore.FindTrials(t, s, 1)
	if len(found.Findings) != 1 || found.Findings[0].What != "the operator still writes after 15m0s; the last writes:" {
		t.Errorf("%s: %+v", found, found.Findings)
	}
	longest, last := slices.Max(lasted), lasted[len(lasted)-1]
	if longest < 15*time.Minute || last != 2*time.Minute {
		t.Errorf("the trials lasted %v", lasted)
	}
}
