package write_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/write"
)

func TestPreconditions(t *testing.T) {
	revision := "0"
	uid := types.UID("other")
	stale := "1"
	for _, test := range []struct {
		name   string
		change func(b *bench) write.Change
		want   string
	}{
		{"an update must say what it has seen", func(b *bench) write.Change {
			return write.Replace{Object: b.widget(`{}`)}
		}, `widgets.example.com "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`},
		{"an update of an older object is refused", func(b *bench) write.Change {
			return write.Replace{Object: b.widget(`{"metadata":{"resourceVersion":"1"}}`)}
		}, `Operation cannot be fulfilled on widgets.example.com "a": the object has been modified; please apply your changes to the latest version and try again`},
		{"an update of another object of the name is refused", func(b *bench) write.Change {
			return write.Replace{Object: b.widget(`{"metadata":{"uid":"other"}}`)}
		}, `Operation cannot be fulfilled on widgets.example.com "a": StorageError: invalid object, Code: 4, Key: /registry/example.com/widgets/default/a, ` +
			`ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: ` + revision},
		{"an update must name the object of the request", func(b *bench) write.Change {
			return write.Replace{Object: b.widget(`{"metadata":{"name":"b"}}`)}
		}, `the name of the object (b) does not match the name on the URL (a)`},
		{"an update must name the namespace of the request", func(b *bench) write.Change {
			return write.Replace{Object: b.widget(`{"metadata":{"namespace":"b"}}`)}
		}, `the namespace of the provided object does not match the namespace sent on the request`},
		{"a create of a name that is taken is refused", func(b *bench) write.Change {
			return write.Create{Object: b.widget(`{}`)}
		}, `widgets.example.com "a" already exists`},
		{"a create with a resourceVersion is refused", func(b *bench) write.Change {
			return write.Create{Object: b.widget(`{"metadata":{"name":"b","resourceVersion":"1"}}`)}
		}, `resourceVersion should not be set on objects to be created`},
		{"an apply of a uid that is not there is refused", func(b *bench) write.Change {
			b.drop(b.key())
			return write.Apply{Body: []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","uid":"x"}}`)}
		}, `Operation cannot be fulfilled on widgets.example.com "a": uid mismatch: the provided object specified uid x, and no existing object was found`},
		{"a delete of another uid is refused", func(b *bench) write.Change {
			return write.Delete{Options: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}}
		}, `Operation cannot be fulfilled on Widget.example.com "a": the UID in the precondition (other) does not match the UID in record (` + revision +
			`). The object might have been deleted and then recreated`},
		{"a delete of an older object is refused", func(b *bench) write.Change {
			return write.Delete{Options: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &stale}}}
		}, `Operation cannot be fulfilled on Widget.example.com "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (4). ` +
			`The object might have been modified`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.make()
			want := strings.ReplaceAll(test.want, revision, b.stored("metadata.uid")[0])
			if !strings.Contains(test.want, "UID in") {
				want = test.want
			}
			want = strings.ReplaceAll(want, "ResourceVersion: "+b.stored("metadata.uid")[0], "ResourceVersion: 0")
			_, err := b.Run(t.Context(), b.request(test.change(b)))
			equal(t, "answer", fmt.Sprint(err), want)
			equal(t, "commits", b.changes, []string(nil))
		})
	}
}

func TestADryRunGoesAllTheWayButForTheCommit(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(b *bench) write.Change
		want   string // of the answer: name, color, created, deleted
	}{
		{"create", func(b *bench) write.Change {
			return write.Create{Object: b.widget(`{"metadata":{"name":"b"},"spec":{"color":"green"}}`)}
		}, "b green true false"},
		{"merge patch", func(*bench) write.Change {
			return write.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"color":"green"}}`)}
		}, "a green false false"},
		{"apply that creates", func(b *bench) write.Change {
			b.drop(b.key())
			return write.Apply{Body: []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"color":"green"}}`)}
		}, "a green true false"},
		{"delete", func(*bench) write.Change { return write.Delete{Options: &metav1.DeleteOptions{}} }, "a red false true"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.make()
			r := b.request(test.change(b))
			r.Options.DryRun = []string{metav1.DryRunAll}
			calls := 0
			b.validate = func(w *admission.Write) error {
				calls++
				equal(t, "dry run", w.IsDryRun(), true)
				return nil
			}
			before := b.Store.Revision()
			result, err := b.Run(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(read(result.Text, "metadata.name", "spec.color"), " ") + fmt.Sprint(" ", result.Created, " ", result.Deleted)
			equal(t, "answer", got, test.want)
			equal(t, "revision", b.Store.Revision(), before)
			equal(t, "calls of validating admission", calls, 1)
			equal(t, "commits", b.changes, []string(nil))
		})
	}
}

func TestAWriteThatChangesNothingCommitsNothing(t *testing.T) {
	b := newBench(t)
	b.make()
	before := b.Store.Revision()
	result, err := b.Run(t.Context(), b.request(write.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"color":"red"}}`)}))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "revision", b.Store.Revision(), before)
	equal(t, "resourceVersion of the answer", read(result.Text, "metadata.resourceVersion"), []string{fmt.Sprint(before)})
	equal(t, "commits", b.changes, []string(nil))
}

func TestCommittedIsCalledAfterEachCommit(t *testing.T) {
	b := newBench(t)
	for _, change := range []write.Change{
		write.Create{Object: b.widget(`{"metadata":{"finalizers":["example.com/f"]}}`)},
		write.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"color":"blue"}}`)},
		write.Delete{Options: &metav1.DeleteOptions{}},
		write.Delete{Options: &metav1.DeleteOptions{}}, // it is being deleted already
		write.Patch{Type: types.MergePatchType, Body: []byte(`{"metadata":{"finalizers":null}}`)},
	} {
		if _, err := b.Run(t.Context(), b.request(change)); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "changes", b.changes, []string{
		"created widgets default/a", "updated widgets default/a", "updated widgets default/a", "deleted widgets default/a",
	})
}

func TestScaleIsAProjectionOfTheObject(t *testing.T) {
	for _, test := range []struct {
		name   string
		change write.Change
	}{
		{"merge patch", write.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"replicas":3}}`)}},
		{"JSON patch", write.Patch{Type: types.JSONPatchType, Body: []byte(`[{"op":"replace","path":"/spec/replicas","value":3}]`)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.make()
			var calls []string
			see := func(phase string) func(*admission.Write) error {
				return func(w *admission.Write) error {
					after, before := w.GetObject().(*autoscalingv1.Scale), w.GetOldObject().(*autoscalingv1.Scale)
					calls = append(calls, fmt.Sprint(phase, " ", w.GetKind().Kind, " ", w.GetSubresource(), " ", before.Spec.Replicas, " to ", after.Spec.Replicas))
					return nil
				}
			}
			b.mutate, b.validate = see("mutate"), see("validate")
			r := b.request(test.change)
			r.Subresource, r.Manager = "scale", "scaler"
			if _, err := b.Run(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			equal(t, "object", b.stored("kind", "spec.replicas", "spec.color", "metadata.generation"), []string{"Widget", "3", "red", "2"})
			equal(t, "who owns the replicas", b.stored(`metadata.managedFields.#(manager=="scaler").fieldsV1`, `metadata.managedFields.#(manager=="scaler").subresource`),
				[]string{`{"f:spec":{"f:replicas":{}}}`, "scale"})
			equal(t, "what admission saw", calls, []string{"mutate Scale scale 1 to 3", "validate Scale scale 1 to 3"})
		})
	}
}

// A real server cannot convert what an apply has made of the Scale of a custom object, however small the change: it compares the values
// of the configuration, before they become a Scale.
func TestAnApplyThatChangesAScaleIsRefused(t *testing.T) {
	for _, change := range []string{
		`"spec":{"replicas":3}`, `"status":{"selector":null}`, `"status":{"replicas":1.7976931348623157e308}`, `"metadata":{"name":"a","creationTimestamp":-1.5}`,
	} {
		b := newBench(t)
		b.make()
		r := b.request(write.Apply{Force: true, Body: []byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},` + change + `}`)})
		r.Subresource, r.Manager = "scale", "scaler"
		_, err := b.Run(t.Context(), r)
		equal(t, "error of "+change, fmt.Sprint(err),
			"failed to convert new object (/a; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1")
		equal(t, "object", b.stored("spec.replicas", "metadata.generation"), []string{"1", "1"})
	}
}

func TestWhatAdmissionPutsIntoAProjectionIsWritten(t *testing.T) {
	b := newBench(t)
	b.make()
	b.mutate = func(w *admission.Write) error {
		scale := w.GetObject().(*autoscalingv1.Scale).DeepCopy()
		scale.Spec.Replicas++
		return w.Replace(scale)
	}
	r := b.request(write.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"replicas":3}}`)})
	r.Subresource = "scale"
	if _, err := b.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	equal(t, "replicas", b.stored("spec.replicas"), []string{"4"})
}

func TestAdmissionIsShownTheOptionsOfTheOperation(t *testing.T) {
	b := newBench(t)
	b.mutate = func(w *admission.Write) error {
		text, err := json.Marshal(w.GetOperationOptions())
		b.changes = append(b.changes, string(text))
		return err
	}
	r := b.request(write.Apply{Body: []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":"m"}}`)})
	r.Options = write.Options{FieldManager: "tester", FieldValidation: "Strict"}
	for range 2 {
		if _, err := b.Run(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	policy := metav1.DeletePropagationBackground
	if _, err := b.Run(t.Context(), b.request(write.Delete{Options: &metav1.DeleteOptions{PropagationPolicy: &policy}})); err != nil {
		t.Fatal(err)
	}
	equal(t, "options and changes", b.changes, []string{
		`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"tester","fieldValidation":"Strict"}`,
		"created widgets default/a",
		`{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"tester","fieldValidation":"Strict"}`,
		`{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","propagationPolicy":"Background"}`,
		"deleted widgets default/a",
	})
}
