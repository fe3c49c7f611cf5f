package view

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/store"
)

// Selectors decide by the bytes of an object as they would by the decoded object.
func TestSelectorsDecideAsByDecodedObjects(t *testing.T) {
	r := random{seedtest.Rand(t)}
	v := gadget(t, "v1")
	byLabels := []string{"", "app", "!app", "app=x", "app!=x", "app in (y, app)", "app notin (y)", "tier=app,app", "nosuch"}
	byFields := []string{"", "metadata.name=a", "metadata.name!=a", "metadata.namespace=default", "spec.color=red", "spec.color!=red", "spec.color=", "metadata.name=b,spec.color=green"}
	for range 2000 {
		record := stored(t, v, r.gadget(), 8)
		obj := must(v.Codec.DecodeStored(record))(t)
		set := must(v.Codec.Fields(obj))(t)
		metadata, ok := obj.(interface{ GetLabels() map[string]string })
		if !ok {
			t.Fatalf("%T has no labels", obj)
		}

		byLabel, byField := oneOf(r, byLabels...), oneOf(r, byFields...)
		o := &internalversion.ListOptions{LabelSelector: must(labels.Parse(byLabel))(t), FieldSelector: must(fields.ParseSelector(byField))(t)}
		sel := must(NewSelector(v, o, func(record store.Record) (string, error) { return Text(v, record) }))(t)
		want := o.LabelSelector.Matches(labels.Set(metadata.GetLabels())) && o.FieldSelector.Matches(set)
		if got := must(sel.Matches(record))(t); got != want {
			t.Fatalf("labels %q, fields %q: %v of %s, want %v", byLabel, byField, got, record.Value, want)
		}
	}
}

func TestASelectorThatNamesAnObjectReadsItAlone(t *testing.T) {
	v := gadget(t, "v1")
	for _, c := range []struct {
		rule, fields, namespace, want string
	}{
		{"a name within a namespace", "metadata.name=a", "default", "/registry/example.com/gadgets/default/a"},
		{"a name and a namespace", "metadata.name=a,metadata.namespace=n", "", "/registry/example.com/gadgets/n/a"},
		{"a name in all namespaces", "metadata.name=a", "", ""},
		{"no name", "metadata.name=", "default", ""},
		{"a name that no key can have", "metadata.name=..", "default", ""},
		{"a namespace that there cannot be", "metadata.name=a,metadata.namespace=N", "", ""},
		{"a namespace alone", "metadata.namespace=n", "", ""},
		{"all names but one", "metadata.name!=a", "default", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			sel := must(NewSelector(v, &internalversion.ListOptions{FieldSelector: must(fields.ParseSelector(c.fields))(t)}, nil))(t)
			key, one := sel.one(sel.narrowed(c.namespace))
			if !one {
				key = ""
			}
			expect(t, "key", key, c.want)
		})
	}
}

func TestLabelsAreLookedUpInTheirJSON(t *testing.T) {
	for _, c := range []struct {
		rule, json, label, want string
		found                   bool
	}{
		{"a label", `{"a":"b"}`, "a", "b", true},
		{"one of several", `{"a":"b","c":"d"}`, "c", "d", true},
		{"an empty value", `{"a":""}`, "a", "", true},
		{"a key that is the end of another", `{"xa":"1","a":"2"}`, "a", "2", true},
		{"a key that is a value", `{"x":"a","a":"2"}`, "a", "2", true},
		{"a value alone", `{"x":"a"}`, "a", "", false},
		{"no labels", ``, "a", "", false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			value, found := rawLabels(c.json).Lookup(c.label)
			expect(t, "found", found, c.found)
			expect(t, "value", value, c.want)
		})
	}
}
