package resource_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// counting is a codec that counts what it decodes.
type counting struct {
	resource.Codec
	decoded int
}

func (c *counting) DecodeStored(record store.Record) (runtime.Object, error) {
	c.decoded++
	return c.Codec.DecodeStored(record)
}

// namespaces is the version of namespaces with a codec that counts.
func namespaces() (*resource.Version, *counting) {
	v := *resource.NewRegistry(1, builtin.Resources(builtin.Options{}, nil), nil).Resource("", "namespaces").Storage
	codec := &counting{Codec: v.Codec}
	v.Codec = codec
	return &v, codec
}

// stored is the record of a namespace.
func stored(t *testing.T, v *resource.Version, name, label string) (store.Record, runtime.Object) {
	t.Helper()
	ns := v.Codec.New()
	ns.(metav1.Object).SetName(name)
	ns.(metav1.Object).SetLabels(map[string]string{"a": label})
	info, _ := runtime.SerializerInfoForMediaType(v.Serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	text, err := v.Codec.Encode(ns)
	if err == nil {
		var decoded resource.Decoded
		decoded, _, err = v.Codec.Decode(text, info.Serializer) // with its defaults
		ns = decoded.Object
	}
	if err == nil {
		text, err = v.Codec.Encode(ns)
	}
	if err != nil {
		t.Fatal(err)
	}
	return store.Record{Key: "/" + name, Value: string(text), Tag: v.Identity, Revision: 2}, ns
}

func label(t *testing.T, m *resource.Memory, v *resource.Version, record store.Record) string {
	t.Helper()
	d, err := m.Decode(v, record)
	if err != nil {
		t.Fatal(err)
	}
	return d.Object.(metav1.Object).GetLabels()["a"]
}

func TestARecordIsDecodedOnce(t *testing.T) {
	v, codec := namespaces()
	m := resource.NewMemory(false)
	record, _ := stored(t, v, "x", "1")
	for range 3 {
		if got := label(t, m, v, record); got != "1" {
			t.Errorf("label %q", got)
		}
	}
	next, ns := stored(t, v, "x", "2")
	m.Remember(v, next, resource.Decoded{Object: ns})
	if got := label(t, m, v, next); got != "2" || codec.decoded != 1 {
		t.Errorf("label %q, decoded %d times", got, codec.decoded)
	}
	// What came before is still what it was, for who has the record.
	if got := label(t, m, v, record); got != "1" || codec.decoded != 2 {
		t.Errorf("label of the former record %q, decoded %d times", got, codec.decoded)
	}
}

func TestTheMemoryIsForItsTextAlone(t *testing.T) {
	v, codec := namespaces()
	m := resource.NewMemory(false)
	record, _ := stored(t, v, "x", "1")
	label(t, m, v, record)
	// Another store has the same key at the same revision.
	other, _ := stored(t, v, "x", "2")
	if got := label(t, m, v, other); got != "2" || codec.decoded != 2 {
		t.Errorf("label %q, decoded %d times", got, codec.decoded)
	}
	older := other
	older.Tag = "v0"
	if label(t, m, v, older); codec.decoded != 3 {
		t.Errorf("written under another schema: decoded %d times", codec.decoded)
	}
}

func TestAMemoryIsBounded(t *testing.T) {
	v, codec := namespaces()
	m := resource.NewMemory(false)
	var records []store.Record
	for i := range 5 { // each counts 8 MB: there is room for three
		record, ns := stored(t, v, fmt.Sprint(i), strings.Repeat("x", 2<<20))
		records = append(records, record)
		m.Remember(v, record, resource.Decoded{Object: ns})
	}
	for _, i := range []int{4, 3, 2, 0} {
		label(t, m, v, records[i])
	}
	if codec.decoded != 1 {
		t.Errorf("decoded %d times", codec.decoded)
	}
}

func TestAnObjectThatIsAlteredIsFound(t *testing.T) {
	v, _ := namespaces()
	m := resource.NewMemory(true)
	record, ns := stored(t, v, "x", "1")
	m.Remember(v, record, resource.Decoded{Object: ns})
	if _, err := m.Decode(v, record); err != nil {
		t.Fatal(err)
	}
	ns.(metav1.Object).GetLabels()["a"] = "2"
	_, err := m.Decode(v, record)
	if err == nil || !strings.HasPrefix(err.Error(), "the decoded object of /x has been altered: it was stored as {") {
		t.Errorf("got %v", err)
	}
}

// The encoder of a scheme sets the kind of what it encodes, and sets it back. The race
// detector finds it if that is the shared object.
func TestASharedObjectCanBeEncodedByMany(t *testing.T) {
	v, _ := namespaces()
	record, _ := stored(t, v, "x", "1")
	d, err := resource.NewMemory(false).Decode(v, record)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if text, err := v.Codec.Encode(d.Object); err != nil || string(text) != record.Value {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
	wg.Wait()
}

func TestAMemoryDecodesOfSeveralWhatItDoesNotKeep(t *testing.T) {
	v, codec := namespaces()
	counted := &countingAll{counting: codec}
	v.Codec = counted
	m := resource.NewMemory(false)
	a, _ := stored(t, v, "a", "1")
	b, _ := stored(t, v, "b", "2")
	older, _ := stored(t, v, "c", "3")
	older.Tag = "written under another schema"
	names := func(records ...store.Record) string {
		t.Helper()
		objects, err := m.DecodeAll(v, records)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, obj := range objects {
			out = append(out, obj.(metav1.Object).GetName())
		}
		return strings.Join(out, " ")
	}
	if label(t, m, v, b) != "2" {
		t.Fatal("not the object")
	}
	for _, want := range []string{"[/c /a]", "[/c]"} {
		counted.decoded = nil
		if got := names(older, b, a); got != "c b a" {
			t.Errorf("got %s", got)
		}
		if got := fmt.Sprint(counted.decoded); got != want {
			t.Errorf("decoded %s, want %s", got, want)
		}
	}
	counted.decoded = nil
	if got := names(a, b); got != "a b" || counted.decoded != nil {
		t.Errorf("got %s, decoded %v", got, counted.decoded)
	}
}

// countingAll is a codec that records what it decodes at once.
type countingAll struct {
	*counting
	decoded []string
}

func (c *countingAll) DecodeAllStored(records []store.Record) ([]runtime.Object, error) {
	for _, r := range records {
		c.decoded = append(c.decoded, r.Key)
	}
	return c.counting.DecodeAllStored(records)
}
