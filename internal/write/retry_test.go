package write_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/apiserver/pkg/admission"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// counted counts how often a source decodes.
func counted(source write.Made, n *int) write.Made {
	return func(v *resource.Version) (resource.Decoded, error) { *n++; return source(v) }
}

func TestAWriteIsTriedAgainWhenAnotherOneCameFirst(t *testing.T) {
	merge := write.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"size":"xl"}}`)}
	apply := write.Apply{Body: []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":"xl"}}`)}
	for _, test := range []struct {
		name      string
		absent    bool // there is no object to begin with
		change    write.Change
		meanwhile func(b *bench) // during the first call of admission
		calls     string         // the operations of its calls
		want      string         // color and size of what is stored, and what the write came to
	}{
		{"a merge patch is applied to what the other one made", false, merge,
			func(b *bench) { b.color("blue") }, "UPDATE UPDATE", "blue xl"},
		{"an apply is merged into what the other one made", false, apply,
			func(b *bench) { b.color("blue") }, "UPDATE UPDATE", "blue xl"},
		{"an apply that is about to create updates what is there now", true, apply,
			func(b *bench) { b.make() }, "CREATE UPDATE", "red xl"},
		{"an apply that is about to update creates what is gone", false, apply,
			func(b *bench) { b.drop(b.key()) }, "UPDATE CREATE", " xl created"},
		{"a merge patch does not find what is gone", false, merge,
			func(b *bench) { b.drop(b.key()) }, "UPDATE", `widgets.example.com "a" not found`},
		{"a definition that has changed is the one that validates the object", false, merge,
			func(b *bench) {
				b.put(crd.DefinitionsPrefix+"widgets.example.com", strings.Replace(definition, `"size"`, `"weight"`, 1))
			}, "UPDATE UPDATE", "red "},
		{"a namespace that has changed is looked at again", true, apply,
			func(b *bench) {
				b.put(b.Namespaces.Key("", "default"), `{"metadata":{"name":"default"},"status":{"phase":"Terminating"}}`)
			}, "CREATE", `widgets.example.com "a" is forbidden: unable to create new content in namespace default because it is being terminated`},
		{"what is not served any more is not written", false, merge,
			func(b *bench) { b.drop(crd.DefinitionsPrefix + "widgets.example.com") }, "UPDATE", write.ErrNotServed.Error()},
		{"a version that is not served any more is not written in", false, merge,
			func(b *bench) {
				b.put(crd.DefinitionsPrefix+"widgets.example.com", strings.Replace(definition, `"served": true`, `"served": false`, 1))
			}, "UPDATE", write.ErrNotServed.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			if !test.absent {
				b.make()
			}
			meanwhile := once(func() { test.meanwhile(b) })
			var calls []string
			b.mutate = func(w *admission.Write) error {
				calls = append(calls, string(w.GetOperation()))
				meanwhile()
				return nil
			}
			result, err := b.Run(t.Context(), b.request(test.change))
			var got string
			if err != nil {
				got = err.Error()
			} else {
				got = strings.Join(b.stored("spec.color", "spec.size"), " ")
				if result.Created {
					got += " created"
				}
			}
			equal(t, "outcome", got, test.want)
			equal(t, "calls of admission", strings.Join(calls, " "), test.calls)
		})
	}
}

func setSize(obj runtime.Object, size string) error {
	fields := obj.(interface{ UnstructuredContent() map[string]any }).UnstructuredContent()
	fields["spec"].(map[string]any)["size"] = size
	return nil
}

func TestEachAttemptStartsFromWhatWasSent(t *testing.T) {
	b := newBench(t)
	b.make()
	meanwhile := once(func() { b.color("blue") })
	b.mutate = func(w *admission.Write) error {
		obj := w.GetObject().(interface{ UnstructuredContent() map[string]any }).UnstructuredContent()
		size := obj["spec"].(map[string]any)["size"].(string)
		meanwhile()
		return setSize(w.GetObject(), size+"!")
	}
	decoded := 0
	update := write.Replace{Object: counted(b.widget(`{"spec":{"size":"m"}}`), &decoded)}
	_, err := b.Run(t.Context(), b.request(update))
	if !apierrors.IsInvalid(err) { // it must say which one it has seen
		t.Fatal(err)
	}
	b.put(b.Namespaces.Key("", "default"), `{"metadata":{"name":"default"},"status":{"phase":"Active"}}`)
	create := b.request(write.Create{Object: counted(b.widget(`{"metadata":{"name":"b"},"spec":{"size":"m"}}`), &decoded)})
	create.Name = ""
	decoded = 0
	meanwhile = once(func() { // the definition counts in every create
		b.put(crd.DefinitionsPrefix+"widgets.example.com", definition)
	})
	result, err := b.Run(t.Context(), create)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "what the second attempt made", read(result.Text, "spec.size"), []string{"m!"})
	equal(t, "times decoded", decoded, 2)
}

func TestGeneratedNamesAreTriedEightTimes(t *testing.T) {
	// A pipeline with the same seed takes the names before.
	for _, taken := range []int{0, 7, 8} {
		t.Run(fmt.Sprintf("%d are taken", taken), func(t *testing.T) {
			b := newBench(t)
			for range taken {
				b.put(b.widgets().Resource.Key("default", b.nextName()), `{"metadata":{"name":"x"}}`)
			}
			last := b.nextName()
			seed := uint64(1)
			b.Random = write.NewRandom(&seed, store.FirstRevision)
			create := b.request(write.Create{Object: b.widget(`{"metadata":{"generateName":"w-"}}`)})
			create.Name = ""
			result, err := b.Run(t.Context(), create)
			if taken < 8 {
				if err != nil {
					t.Fatal(err)
				}
				equal(t, "name", read(result.Text, "metadata.name"), []string{last})
				return
			}
			equal(t, "reason", apierrors.ReasonForError(err), metav1.StatusReasonAlreadyExists)
			if !strings.Contains(err.Error(), "the server was not able to generate a unique name for the object") {
				t.Error(err)
			}
		})
	}
}

// nextName is the name that a create would generate next. A dry run takes a uid and
// a name as a create does.
func (b *bench) nextName() string {
	b.t.Helper()
	create := b.request(write.Create{Object: b.widget(`{"metadata":{"generateName":"w-"}}`)})
	create.Name, create.Options.DryRun = "", []string{metav1.DryRunAll}
	result, err := b.Run(b.t.Context(), create)
	if err != nil {
		b.t.Fatal(err)
	}
	return read(result.Text, "metadata.name")[0]
}

func TestAWriteForOneRevisionIsTriedOnce(t *testing.T) {
	for _, test := range []struct {
		name      string
		before    func(b *bench) // the write
		meanwhile func(b *bench) // during a call of admission
		require   func(b *bench) store.Precondition
		calls     int
	}{
		{"the object changed before", func(b *bench) { b.color("blue") }, nil, nil, 0},
		{"the object is gone", func(b *bench) { b.drop(b.key()) }, nil, nil, 0},
		{"the object changes meanwhile", nil, func(b *bench) { b.color("blue") }, nil, 1},
		{"the object goes meanwhile", nil, func(b *bench) { b.drop(b.key()) }, nil, 1},
		{"the definition changes meanwhile", nil, func(b *bench) {
			b.put(crd.DefinitionsPrefix+"widgets.example.com", definition)
		}, nil, 1},
		{"what the caller requires does not hold", nil, nil, func(b *bench) store.Precondition {
			return store.Precondition{Key: b.Namespaces.Key("", "default"), Revision: 1}
		}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.make()
			before, err := b.Store.Get(b.key())
			if err != nil {
				t.Fatal(err)
			}
			calls := 0
			b.mutate = func(*admission.Write) error {
				calls++
				if test.meanwhile != nil {
					test.meanwhile(b)
				}
				return nil
			}
			if test.before != nil {
				test.before(b)
			}
			r := b.request(write.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"size":"s"}}`)})
			r.Revision = before.Revision
			if test.require != nil {
				r.Require = []store.Precondition{test.require(b)}
			}
			_, err = b.Run(t.Context(), r)
			if !errors.Is(err, write.ErrObsolete) || !apierrors.IsConflict(err) {
				t.Errorf("got %v", err)
			}
			equal(t, "calls of admission", calls, test.calls)
			equal(t, "commits", b.changes, []string(nil))
		})
	}
}

func TestAConflictThatAdmissionMakesUpIsTheAnswer(t *testing.T) {
	b := newBench(t)
	b.make()
	calls := 0
	b.validate = func(w *admission.Write) error {
		calls++
		if w.GetOperation() == upstream.Create {
			return apierrors.NewAlreadyExists(w.GetResource().GroupResource(), w.GetName())
		}
		return apierrors.NewConflict(w.GetResource().GroupResource(), w.GetName(), errors.New("no"))
	}
	_, err := b.Run(t.Context(), b.request(write.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"size":"m"}}`)}))
	equal(t, "patch", err.Error(), `Operation cannot be fulfilled on widgets.example.com "a": no`)
	b.drop(b.key())
	_, err = b.Run(t.Context(), b.request(write.Apply{Body: []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}`)}))
	equal(t, "apply", err.Error(), `widgets.example.com "a" already exists`)
	equal(t, "calls of admission", calls, 2)
}

func TestAWriteIsNotTriedAgainOnceItsContextIsDone(t *testing.T) {
	b := newBench(t)
	b.make()
	ctx, cancel := context.WithCancel(t.Context())
	attempts := 0
	b.mutate = func(*admission.Write) error {
		if attempts++; attempts == 3 {
			cancel()
		}
		b.color(fmt.Sprint("color ", attempts)) // another write comes first, each time
		return nil
	}
	_, err := b.Run(ctx, b.request(write.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"size":"xl"}}`)}))
	if !errors.Is(err, context.Canceled) || attempts != 3 {
		t.Errorf("%d attempts end with %v, want 3 and %v", attempts, err, context.Canceled)
	}
}

func TestAnApplyThatCreatesMaySayAResourceVersion(t *testing.T) {
	b := newBench(t)
	result, err := b.Run(t.Context(), b.request(write.Apply{Body: []byte(
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","resourceVersion":"3"},"spec":{"size":"xl"}}`)}))
	if err != nil || !result.Created {
		t.Fatalf("created is %t, the error %v", result.Created, err)
	}
	record, err := b.Store.Get(b.key())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "resourceVersion of the record", read(record.Value, "metadata.resourceVersion"), []string{fmt.Sprint(record.Revision)})
}

// A write whose own hook changes the object each time would be tried for ever, in an instant of a synctest bubble.
func TestAWriteThatIsAlwaysOvertakenEnds(t *testing.T) {
	b := newBench(t)
	b.make()
	attempts, key := 0, b.key()
	after, err := b.Store.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	b.mutate = func(*admission.Write) error {
		attempts++
		b.put(key, after.Value)
		return nil
	}
	merge := write.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"size":"xl"}}`)}
	_, err = b.Run(t.Context(), b.request(merge))
	equal(t, "error", fmt.Sprint(err), "Timeout: request did not complete within requested timeout - another write came first in each of 1000 attempts")
	equal(t, "it is a timeout", apierrors.IsTimeout(err), true)
	equal(t, "attempts", attempts, 1_000)
}

// Nothing is committed once the request has ended, however late the write finds out.
func TestAWriteWhoseRequestHasEndedCommitsNothing(t *testing.T) {
	merge := write.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"size":"xl"}}`)}
	for name, test := range map[string]struct {
		absent bool
		change func(b *bench) write.Change
	}{
		"create": {true, func(b *bench) write.Change { return write.Create{Object: b.widget(`{"spec":{"size":"xl"}}`)} }},
		"patch":  {false, func(*bench) write.Change { return merge }},
		"delete": {false, func(*bench) write.Change { return write.Delete{Options: &metav1.DeleteOptions{}} }},
		"put": {false, func(*bench) write.Change {
			return write.Put{Make: func(obj runtime.Object) (runtime.Object, error) { return obj, setSize(obj, "xl") }}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if !test.absent {
				b.make()
			}
			ctx, cancel := context.WithCancel(t.Context())
			b.validate = func(*admission.Write) error {
				cancel()
				return nil
			}
			if name == "put" {
				cancel() // admission does not see it
			}
			before := b.Store.Revision()
			_, err := b.Run(ctx, b.request(test.change(b)))
			equal(t, "it has ended", errors.Is(err, context.Canceled), true)
			equal(t, "revision", b.Store.Revision(), before)
		})
	}
}
