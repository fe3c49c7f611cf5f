package write_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// mutates returns a mutate function that changes the object as a plugin does.
func mutates(change func(u *unstructured.Unstructured)) func(*admission.Write) error {
	return func(w *admission.Write) error {
		u := w.GetObject().DeepCopyObject().(*unstructured.Unstructured)
		change(u)
		return w.Replace(u)
	}
}

// creations are the requests that create the widget a.
func (b *bench) creations() map[string]write.Change {
	const text = `{"spec":{"color":"red"}}`
	return map[string]write.Change{
		"create": write.Create{Object: b.widget(text)},
		"update": write.Replace{Object: b.widget(text)},
		"apply":  write.Apply{Body: []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"color":"red"}}`)},
	}
}

// newCreationBench returns a bench whose widgets are created by updates, too.
func newCreationBench(t *testing.T) *bench {
	b := newBench(t)
	b.forget = func(v *resource.Version) { v.Strategy, v.Informed = creating{v.Strategy}, nil }
	return b
}

type creating struct{ resource.Strategy }

func (creating) AllowCreateOnUpdate(context.Context) bool { return true }

// created returns the name in the key of the widget that has the color red, and its record.
func (b *bench) created() (name, text string) {
	b.t.Helper()
	list, err := b.Store.List(b.widgets().Resource.PrefixOf("default"), store.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, record := range list.Records {
		if strings.Contains(record.Value, `"color":"red"`) {
			name, text = b.widgets().Resource.NameOf(record.Key), record.Value
		}
	}
	return name, text
}

func TestWhatAdmissionMakesOfTheNameOfANewObject(t *testing.T) {
	for _, c := range []struct {
		rule   string
		change func(*unstructured.Unstructured)
		// want is the key of the object, or the error, for each request.
		want map[string]string
	}{
		{"another name", func(u *unstructured.Unstructured) { u.SetName("b") },
			map[string]string{"create": "b", "update": "a", "apply": "a"}},
		{"the name of an object that exists", func(u *unstructured.Unstructured) { u.SetName("taken") },
			map[string]string{"create": `widgets.example.com "taken" already exists`, "update": "a", "apply": "a"}},
		{"no name", func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "metadata", "name") },
			map[string]string{
				"create": `Widget.example.com "" is invalid: metadata.name: Required value: name or generateName is required`,
				"update": `Widget.example.com "" is invalid: metadata.name: Required value: name or generateName is required`,
				"apply":  `Widget.example.com "" is invalid: metadata.name: Required value: name or generateName is required`,
			}},
		{"a generateName", func(u *unstructured.Unstructured) { u.SetName(""); u.SetGenerateName("g-") },
			map[string]string{
				"create": "g-pfswc",
				"update": "Internal error occurred: metadata.name was not generated",
				"apply":  "Internal error occurred: metadata.name was not generated",
			}},
		{"another namespace", func(u *unstructured.Unstructured) { u.SetNamespace("elsewhere") },
			map[string]string{
				"create": "the namespace of the provided object does not match the namespace sent on the request",
				"update": "the namespace of the provided object does not match the namespace sent on the request",
				"apply":  "the namespace of the provided object does not match the namespace sent on the request",
			}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got := map[string]string{}
			for name := range c.want {
				b := newCreationBench(t)
				b.put(b.widgets().Resource.Key("default", "taken"), `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"taken"}}`)
				attempts := 0
				change := mutates(c.change)
				b.mutate = func(w *admission.Write) error {
					attempts++
					return change(w)
				}
				_, err := b.Run(t.Context(), b.request(b.creations()[name]))
				equal(t, name+" is tried", attempts, 1)
				if err != nil {
					got[name] = err.Error()
				} else {
					got[name], _ = b.created()
				}
			}
			equal(t, "results", got, c.want)
		})
	}
}

// A create removes what a client must not set before admission, an update that creates afterwards. So only the former
// stores what admission sets, except for what the server sets itself.
func TestWhatAdmissionMakesOfTheMetadataOfANewObject(t *testing.T) {
	paths := []string{"metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.creationTimestamp", "metadata.selfLink", "metadata.generation"}
	kept := []string{"2001-01-01T00:00:00Z", "7", "2023-11-14T22:13:20Z", "", "1"}
	wiped := []string{"", "", "2023-11-14T22:13:20Z", "", "1"}
	for name, want := range map[string][]string{"create": kept, "update": wiped, "apply": wiped} {
		b := newCreationBench(t)
		b.mutate = mutates(func(u *unstructured.Unstructured) {
			metadata := u.Object["metadata"].(map[string]any)
			metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = "2001-01-01T00:00:00Z", int64(7)
			metadata["creationTimestamp"], metadata["selfLink"], metadata["generation"] = "2001-01-01T00:00:00Z", "/x", int64(5)
			metadata["uid"] = "mine"
		})
		if _, err := b.Run(t.Context(), b.request(b.creations()[name])); err != nil {
			t.Fatal(err)
		}
		_, text := b.created()
		equal(t, name, read(text, paths...), want)
		if uid := read(text, "metadata.uid")[0]; uid == "mine" || uid == "" {
			t.Errorf("%s: the uid is %q", name, uid)
		}
	}
}

// Admission sees what a client must not set if an update creates the object, and not if a create does.
func TestWhatAdmissionSeesOfTheMetadataOfANewObject(t *testing.T) {
	const metadata = `{"metadata":{"name":"a","deletionTimestamp":"2001-01-01T00:00:00Z","selfLink":"/x"},"spec":{"color":"red"}}`
	for name, want := range map[string]string{"create": "", "update": "/x 2001-01-01T00:00:00Z", "apply": "/x 2001-01-01T00:00:00Z"} {
		b := newCreationBench(t)
		seen := ""
		b.mutate = func(w *admission.Write) error {
			u := w.GetObject().(*unstructured.Unstructured)
			deleted, _, _ := unstructured.NestedString(u.Object, "metadata", "deletionTimestamp")
			seen = strings.TrimSpace(u.GetSelfLink() + " " + deleted)
			return nil
		}
		change := map[string]write.Change{
			"create": write.Create{Object: b.widget(metadata)},
			"update": write.Replace{Object: b.widget(metadata)},
			"apply":  write.Apply{Body: []byte(strings.Replace(metadata, "{", `{"apiVersion":"example.com/v1","kind":"Widget",`, 1))},
		}[name]
		if _, err := b.Run(t.Context(), b.request(change)); err != nil {
			t.Fatal(err)
		}
		equal(t, name, seen, want)
		_, text := b.created()
		equal(t, name+" stores", read(text, "metadata.deletionTimestamp", "metadata.selfLink"), []string{"", ""})
	}
}

// Duplicate owners of a patch or an apply are found after admission, which sees them, those of an update before.
func TestWhenDuplicateOwnersAreDropped(t *testing.T) {
	const owner = `{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u"}`
	const body = `{"metadata":{"ownerReferences":[` + owner + `,` + owner + `]}}`
	b := newBench(t)
	b.make()
	seen := 0
	b.mutate = func(w *admission.Write) error {
		seen = len(w.GetObject().(*unstructured.Unstructured).GetOwnerReferences())
		return nil
	}
	if _, err := b.Run(t.Context(), b.request(write.Patch{Type: types.MergePatchType, Body: []byte(body)})); err != nil {
		t.Fatal(err)
	}
	equal(t, "owners that admission sees", seen, 2)
	equal(t, "owners that are stored", read(b.stored("metadata.ownerReferences")[0], "#"), []string{"1"})
}
