package write_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/write"
)

// A real server calls mutating admission once for a create, and what follows it for each generated name, and again without managedFields if the
// object is too large for etcd.
func TestACreateThatIsTriedAgainIsMutatedOnce(t *testing.T) {
	for _, test := range []struct {
		name      string
		metadata  string
		size      int
		taken     int // how many generated names are taken
		mutations int
		seen      string // whether the object has managedFields when it is validated
		want      string
	}{
		{"a generated name that is taken", `{"generateName":"g-"}`, 1, 2, 1, "managed managed managed", "created"},
		{"an object that is too large", `{"name":"b"}`, 1536 * 1024, 0, 1, "managed unmanaged", "etcdserver: request is too large"},
		{"one that is too large because of its managedFields", `{"name":"b"}`, 1536*1024 - 350, 0, 1, "managed unmanaged", "created"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			mutations, taken := 0, test.taken
			var seen []string
			b.mutate = func(*admission.Write) error { mutations++; return nil }
			b.validate = func(w *admission.Write) error {
				m, err := meta.Accessor(w.GetObject())
				if err != nil {
					return err
				}
				word := "managed"
				if len(m.GetManagedFields()) == 0 {
					word = "unmanaged"
				}
				if m.GetResourceVersion() != "" {
					word += " at " + m.GetResourceVersion()
				}
				seen = append(seen, word)
				if taken > 0 {
					taken--
					b.put(b.widgets().Resource.Key("default", m.GetName()), `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"`+m.GetName()+`","namespace":"default"}}`)
				}
				return nil
			}
			body := `{"metadata":` + test.metadata + `,"spec":{"size":"` + strings.Repeat("x", test.size) + `"}}`
			request := b.request(write.Create{Object: b.widget(body)})
			request.Name = ""
			got := "created"
			if _, err := b.Run(t.Context(), request); err != nil {
				got = err.Error()
			}
			equal(t, "outcome", got, test.want)
			equal(t, "mutations", mutations, test.mutations)
			equal(t, "validations", strings.Join(seen, " "), test.seen)
		})
	}
}

// The message is that of a generated name, also if the object has a name.
func TestATakenNameBesideAGenerateName(t *testing.T) {
	b := newBench(t)
	b.make()
	request := b.request(write.Create{Object: b.widget(`{"metadata":{"name":"a","generateName":"g-"}}`)})
	request.Name = ""
	_, err := b.Run(t.Context(), request)
	equal(t, "error", fmt.Sprint(err), `widgets.example.com "a" already exists, the server was not able to generate a unique name for the object`)
	equal(t, "name is taken", write.NameIsTaken(err), true)
}
