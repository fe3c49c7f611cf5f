package write_test

import (
	"context"
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
