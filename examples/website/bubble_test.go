package website_test

// The tests of this file run the operator in bubbles of testing/synctest. There time passes when
// all goroutines wait, so an hour takes no time, and synctest.Wait returns when nothing is left to
// do: a test compares exact states and never polls.
//
// # What stands where
//
// The base cluster is made once, outside of the bubbles, and is InProcess: in a bubble sockets do
// not count as waiting, so that time would stand still. Each bubble has a fork of its own, and in
// it everything that waits: the manager, its caches, clients, channels and contexts. A cluster
// that is started in the bubble works as well; it installs the definitions anew.
//
// For the same reason the manager does not serve metrics or health probes, and its webhooks are called
// without a socket: controllerruntime.Run sees to that.
//
// # When to sleep before synctest.Wait
//
// synctest.Wait returns when all goroutines wait, also if they wait for a timer. What a timer
// will bring about has not happened then. So sleep a second, which takes no time, before Wait
//
//   - after the manager has started: client-go asks every 100 ms whether caches are filled
//   - after a reconciler has returned an error, or a Conflict: its object comes back after 5 ms,
//     10 ms, and so on, twice as long each time
//   - after a watch has broken: client-go opens the next one after 0.8 s or more
//
// After a write alone, Wait is enough: the watch, the queue and the reconciler need no timer.
// But a write may meet a Conflict with one of the reconciler's, so a test that does not
// know sleeps. Only a test that distinguishes seconds has a reason not to.

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

func TestTheHostIsRegisteredEveryHour(t *testing.T) {
	base := fakecluster.Start(t, append(installed(), fakecluster.InProcess())...)
	synctest.Test(t, func(t *testing.T) {
		o := operate(t, base.Fork(t))
		began := time.Now()
		for range 8 { // after nine to eleven hours controller-runtime looks at all objects once more
			o.hosts.requests() // those until now
			time.Sleep(time.Hour)
			synctest.Wait()
			equal(t, "requests", o.hosts.requests(), []string{"register www.example.com for " + o.site(t).Status.Address})
		}
		equal(t, "time that passed", time.Since(began), 8*time.Hour)
	})
}

// TestWhatTheOperatorMakesOfIt: in each case something happens to a Website whose pods all serve,
// and the test names all that is different afterwards.
func TestWhatTheOperatorMakesOfIt(t *testing.T) {
	base := fakecluster.Start(t, append(installed(), fakecluster.InProcess())...)
	final := map[string]string{
		"Available": "True, AllServing", "Registered": "True, Registered",
		"page": "Welcome to www.example.com!", "replicas": "2", "host": "registered",
	}

	for _, test := range []struct {
		name    string
		happens func(*testing.T, *operator)
		differs map[string]string
	}{
		{
			name:    "a pod falls out",
			happens: func(t *testing.T, o *operator) { o.loseAPod(t) },
			differs: map[string]string{"Available": "False, Waiting"},
		},
		{
			name:    "the page changes",
			happens: func(t *testing.T, o *operator) { o.patch(t, o.site(t), `{"spec":{"page":"Bye!"}}`) },
			differs: map[string]string{"page": "Bye!"},
		},
		{
			name:    "somebody scales the Deployment, and the operator scales it back",
			happens: func(t *testing.T, o *operator) { o.patch(t, &appsv1.Deployment{}, `{"spec":{"replicas":7}}`) },
		},
		{
			name:    "somebody deletes the ConfigMap, and the operator makes it again",
			happens: func(t *testing.T, o *operator) { must(t, o.Delete(t.Context(), named(&corev1.ConfigMap{}))) },
		},
		{
			name: "the registry does not answer for a minute, and then the operator tries again",
			happens: func(t *testing.T, o *operator) {
				o.hosts.fail(errors.New("no answer"))
				o.patch(t, o.site(t), `{"spec":{"page":"Back!"}}`)
				time.Sleep(time.Minute)
				o.hosts.fail(nil)
				time.Sleep(time.Minute)
			},
			differs: map[string]string{"page": "Back!"},
		},
		{
			name: "the host gets another owner, which is seen when it is to be renewed",
			happens: func(t *testing.T, o *operator) {
				must(t, o.hosts.Release(t.Context(), "www.example.com", string(o.site(t).UID)))
				must(t, o.hosts.Register(t.Context(), "www.example.com", "192.0.2.1", "somebody else"))
				time.Sleep(time.Hour)
			},
			differs: map[string]string{"Registered": "False, Taken"},
		},
		{
			name:    "the Website is deleted, and everything with it",
			happens: func(t *testing.T, o *operator) { must(t, o.Delete(t.Context(), o.site(t))) },
			differs: map[string]string{"Available": "", "Registered": "", "page": "", "replicas": "", "host": ""},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := operate(t, base.Fork(t))
				equal(t, "before", o.looks(t), final)
				test.happens(t, o)
				settle()

				want := maps.Clone(final)
				for what, seen := range test.differs {
					if want[what] = seen; seen == "" {
						delete(want, what)
					}
				}
				equal(t, "after", o.looks(t), want)
			})
		})
	}
}

// settle returns when the operator has nothing left to do, other than in an hour.
func settle() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// operator is an operator that runs in a bubble, and a client to look at what it does.
type operator struct {
	client.Client
	*workloads.Workloads
	hosts *registry
}

// operate runs the operator until the bubble ends, with a Website whose pods all serve.
func operate(t *testing.T, c *fakecluster.Cluster) *operator {
	t.Helper()
	o := &operator{Client: newClient(t, c), Workloads: workloads.Run(t, c, workloads.Nodes(1)), hosts: &registry{}}
	run(t, c, website.Operator{Registry: o.hosts}.SetupController)

	site := newSite()
	site.Spec.Image = image // no webhook fills it in
	must(t, o.Create(t.Context(), site))
	settle()
	return o
}

// named gives an object the name that the Website has, and all that belongs to it.
func named[T client.Object](object T) T {
	object.SetNamespace("default")
	object.SetName("home")
	return object
}

func (o *operator) site(t *testing.T) *website.Website {
	t.Helper()
	site := named(&website.Website{})
	must(t, o.Get(t.Context(), client.ObjectKeyFromObject(site), site))
	return site
}

func (o *operator) patch(t *testing.T, object client.Object, patch string) {
	t.Helper()
	must(t, o.Patch(t.Context(), named(object), client.RawPatch(types.MergePatchType, []byte(patch))))
}

// loseAPod deletes a pod that serves the page, at a time when no node takes another one.
func (o *operator) loseAPod(t *testing.T) {
	t.Helper()
	node, err := o.Node("n1")
	must(t, err)
	must(t, node.Cordon(t.Context()))
	pods := &corev1.PodList{}
	must(t, o.List(t.Context(), pods, client.InNamespace("default")))
	must(t, o.Delete(t.Context(), &pods.Items[0]))
}

// looks says how everything looks: the conditions of the Website, what belongs to it, and its
// host. What is not there is left out.
func (o *operator) looks(t *testing.T) map[string]string {
	t.Helper()
	looks := map[string]string{}
	exists := func(object client.Object) bool {
		err := o.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		must(t, client.IgnoreNotFound(err))
		return !apierrors.IsNotFound(err)
	}
	site, page, deployment := named(&website.Website{}), named(&corev1.ConfigMap{}), named(&appsv1.Deployment{})
	if exists(site) {
		for _, c := range site.Status.Conditions {
			looks[c.Type] = fmt.Sprintf("%s, %s", c.Status, c.Reason)
			if c.ObservedGeneration != site.Generation {
				looks[c.Type] += " some time ago"
			}
		}
	}
	if exists(page) {
		looks["page"] = page.Data["index.html"]
	}
	if exists(deployment) {
		looks["replicas"] = fmt.Sprint(*deployment.Spec.Replicas)
	}
	if len(o.hosts.owners) > 0 {
		looks["host"] = "registered"
	}
	return looks
}
