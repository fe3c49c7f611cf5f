package write_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// orphans is a resource.Deletion's Dependents of a kind whose dependents stay.
func orphans(context.Context) registryrest.GarbageCollectionPolicy {
	return registryrest.OrphanDependents
}

// inSeconds is a resource.Deletion's Graceful of a kind whose objects end within a time.
func inSeconds(n int64) func(context.Context, runtime.Object, *metav1.DeleteOptions) bool {
	return func(_ context.Context, _ runtime.Object, options *metav1.DeleteOptions) bool {
		if options.GracePeriodSeconds == nil {
			options.GracePeriodSeconds = &n
		}
		return true
	}
}

func TestAKindSaysHowItsObjectsAreDeleted(t *testing.T) {
	foreground, zero := metav1.DeletePropagationForeground, int64(0)
	unsupported := func(context.Context) registryrest.GarbageCollectionPolicy { return registryrest.Unsupported }
	for _, c := range []struct {
		rule    string
		kind    resource.Deletion
		options metav1.DeleteOptions
		deleted bool
		want    []string // finalizers, deletionTimestamp, deletionGracePeriodSeconds
	}{
		{"most objects are gone at once", resource.Deletion{}, metav1.DeleteOptions{}, true, nil},
		{"dependents are orphaned if the kind says so", resource.Deletion{Dependents: orphans}, metav1.DeleteOptions{}, false,
			[]string{`["orphan"]`, "2023-11-14T22:13:20Z", "0"}},
		{"unless the request says otherwise", resource.Deletion{Dependents: orphans}, metav1.DeleteOptions{PropagationPolicy: &foreground}, false,
			[]string{`["foregroundDeletion"]`, "2023-11-14T22:13:20Z", "0"}},
		{"a kind without dependents heeds no request", resource.Deletion{Dependents: unsupported}, metav1.DeleteOptions{PropagationPolicy: &foreground}, true, nil},
		{"an object that somebody has to end is marked", resource.Deletion{Graceful: inSeconds(30)}, metav1.DeleteOptions{}, false,
			[]string{"", "2023-11-14T22:13:50Z", "30"}},
		{"and gone once it has ended", resource.Deletion{Graceful: inSeconds(30)}, metav1.DeleteOptions{GracePeriodSeconds: &zero}, true, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			b := newBench(t)
			b.forget = func(v *resource.Version) { v.Deletion = c.kind }
			b.make()
			result, err := b.Run(t.Context(), b.request(write.Delete{Options: &c.options}))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "deleted", result.Deleted, c.deleted)
			if !c.deleted {
				equal(t, "the object", b.stored("metadata.finalizers", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds"), c.want)
			}
		})
	}
}

func TestADeleteSucceedsIfTheMarkedObjectIsEndedElsewhere(t *testing.T) {
	zero := int64(0)
	for _, c := range []struct {
		rule      string
		meanwhile func(*bench)
		remains   bool
	}{
		{"another client removes it, as the kubelet of a pod does", func(b *bench) { b.drop(b.key()) }, false},
		{"another client changes it", func(b *bench) { b.color("blue") }, false},
		{"another object of the name stays", func(b *bench) {
			b.drop(b.key())
			b.make()
		}, true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			b := newBench(t)
			b.forget = func(v *resource.Version) { v.Deletion = resource.Deletion{Graceful: inSeconds(30)} }
			b.make()
			// Admission is called before the object is marked, and again before it is removed.
			calls := 0
			b.validate = func(*admission.Write) error {
				if calls++; calls == 2 {
					c.meanwhile(b)
				}
				return nil
			}
			result, err := b.Run(t.Context(), b.request(write.Delete{Options: &metav1.DeleteOptions{GracePeriodSeconds: &zero}}))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "deleted", result.Deleted, true)
			_, err = b.Store.Get(b.key())
			equal(t, "an object is there", err == nil, c.remains)
		})
	}
}

// Admission sees what the kind has made of the options of a delete. In a collection it sees those of the request.
func TestTheOptionsOfADeleteThatAdmissionSees(t *testing.T) {
	five, negative := int64(5), int64(-5)
	for _, c := range []struct {
		rule       string
		kind       resource.Deletion
		collection bool
		options    metav1.DeleteOptions
		want       string
	}{
		{"the period that the kind has chosen", resource.Deletion{Graceful: inSeconds(30)}, false, metav1.DeleteOptions{}, "30"},
		{"the period of the request", resource.Deletion{Graceful: inSeconds(30)}, false, metav1.DeleteOptions{GracePeriodSeconds: &five}, "5"},
		{"no negative period", resource.Deletion{}, false, metav1.DeleteOptions{GracePeriodSeconds: &negative}, "1"},
		{"no period", resource.Deletion{}, false, metav1.DeleteOptions{}, "none"},
		{"a collection", resource.Deletion{Graceful: inSeconds(30)}, true, metav1.DeleteOptions{}, "none"},
		{"a collection with a negative period", resource.Deletion{}, true, metav1.DeleteOptions{GracePeriodSeconds: &negative}, "-5"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			b := newBench(t)
			b.forget = func(v *resource.Version) { v.Deletion = c.kind }
			b.make()
			seen := ""
			b.validate = func(w *admission.Write) error {
				seen = "none"
				if period := w.GetOperationOptions().(*metav1.DeleteOptions).GracePeriodSeconds; period != nil {
					seen = fmt.Sprint(*period)
				}
				return nil
			}
			r := b.request(write.Delete{Options: &c.options})
			r.Collection = c.collection
			if _, err := b.Run(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			equal(t, "gracePeriodSeconds", seen, c.want)
		})
	}
}

// A finalizer that the delete itself takes away is taken together with the object, which admission admits twice.
func TestHowOftenADeleteIsAdmitted(t *testing.T) {
	background := metav1.DeletePropagationBackground
	for _, c := range []struct {
		rule   string
		kind   resource.Deletion
		orphan bool
		want   int
	}{
		{"an object that is gone at once", resource.Deletion{}, false, 1},
		{"an object that ends within no time", resource.Deletion{Graceful: inSeconds(0)}, false, 2},
		{"an object with a finalizer that the options take", resource.Deletion{}, true, 2},
	} {
		t.Run(c.rule, func(t *testing.T) {
			b := newBench(t)
			b.forget = func(v *resource.Version) { v.Deletion = c.kind }
			b.make()
			if c.orphan {
				b.put(b.key(), strings.Replace(b.stored("@this")[0], `"name":"a"`, `"name":"a","finalizers":["orphan"]`, 1))
			}
			admitted := 0
			b.validate = func(*admission.Write) error {
				admitted++
				return nil
			}
			result, err := b.Run(t.Context(), b.request(write.Delete{Options: &metav1.DeleteOptions{PropagationPolicy: &background}}))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "deleted", result.Deleted, true)
			equal(t, "calls", admitted, c.want)
		})
	}
}
