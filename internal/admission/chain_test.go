package admission_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// recorder is a plugin that records its calls.
type recorder struct {
	name     string
	log      *[]string
	mutate   func(*admission.Write) error
	validate func(*admission.Write) error
}

func (p recorder) Mutate(_ context.Context, w *admission.Write) error {
	*p.log = append(*p.log, "mutate "+p.name)
	if p.mutate == nil {
		return nil
	}
	return p.mutate(w)
}

func (p recorder) Validate(_ context.Context, w *admission.Write) error {
	*p.log = append(*p.log, "validate "+p.name)
	if p.validate == nil {
		return nil
	}
	return p.validate(w)
}

// attributes are those of a create of an object.
func attributes(operation upstream.Operation, gvr schema.GroupVersionResource, namespace, name string, obj *unstructured.Unstructured) upstream.Attributes {
	if obj == nil {
		return upstream.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, namespace, name, gvr, "", operation, nil, false, nil)
	}
	return upstream.NewAttributesRecord(obj, nil, schema.GroupVersionKind{}, namespace, name, gvr, "", operation, nil, false, nil)
}

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// write is a create of a widget, whose codec is that of any kind: no test converts it.
func write(ctx context.Context, obj *unstructured.Unstructured) *admission.Write {
	configMaps := resource.NewRegistry(1, builtin.Resources(builtin.Options{}, nil), nil).Resource("", "configmaps")
	return admission.NewWrite(ctx, attributes(upstream.Create, widgets, "default", "a", obj), configMaps.Storage, nil)
}

// The chain calls policies first, then webhooks, then functions, and all of them in the mutating phase
// before the validating one.
func TestPluginsAreCalledInOrder(t *testing.T) {
	var log []string
	c := &admission.Chain{Policies: recorder{name: "policies", log: &log}, Functions: recorder{name: "functions", log: &log}}
	if c.Empty() || !(&admission.Chain{}).Empty() {
		t.Error("Empty is wrong")
	}
	c.Webhooks = recorder{name: "webhooks", log: &log, validate: func(*admission.Write) error { return errors.New("no") }}
	w := write(t.Context(), &unstructured.Unstructured{Object: map[string]any{}})
	if err := c.Mutate(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(t.Context(), w); err == nil || err.Error() != "no" {
		t.Errorf("validation ends with %v", err)
	}
	want := []string{"mutate policies", "mutate webhooks", "mutate functions", "validate policies", "validate webhooks"}
	if !slices.Equal(log, want) {
		t.Errorf("called %q, want %q", log, want)
	}
}

// compiled is a plugin that is compiled in, and applies to all kinds or none.
type compiled struct {
	recorder
	every bool
}

func (c compiled) AppliesTo(*resource.Resource) bool { return c.every }

// builtinKinds is a cluster with the built-in kinds.
type builtinKinds struct{ admission.Cluster }

func (builtinKinds) Registry() *resource.Registry {
	return resource.NewRegistry(1, builtin.Resources(builtin.Options{}, nil), nil)
}

func TestCompiledPluginsAreFirstAndLast(t *testing.T) {
	var log []string
	plugin := func(name string) recorder { return recorder{name: name, log: &log} }
	configMaps := builtinKinds{}.Registry().Resource("", "configmaps")
	w := admission.NewWrite(t.Context(), attributes(upstream.Create, configMaps.Storage.GroupVersionResource(), "default", "a",
		&unstructured.Unstructured{Object: map[string]any{}}), configMaps.Storage, builtinKinds{})

	for _, test := range []struct {
		name  string
		chain admission.Chain
		want  []string
	}{
		{"all", admission.Chain{
			InTree: compiled{plugin("in-tree"), true}, Policies: plugin("policies"), Webhooks: plugin("webhooks"),
			Functions: plugin("functions"), Last: compiled{plugin("last"), true},
		}, []string{
			"mutate in-tree", "mutate policies", "mutate webhooks", "mutate functions", "mutate last",
			"validate in-tree", "validate policies", "validate webhooks", "validate functions", "validate last",
		}},
		{"they apply to other kinds", admission.Chain{
			InTree: compiled{plugin("in-tree"), false}, Policies: plugin("policies"), Last: compiled{plugin("last"), false},
		}, []string{"mutate policies", "validate policies"}},
		{"some are off in a phase", func() admission.Chain {
			c := admission.Chain{Policies: plugin("policies"), Webhooks: plugin("webhooks")}
			c.Off.Mutating.Policies, c.Off.Validating.Webhooks = true, true
			return c
		}(), []string{"mutate webhooks", "validate policies"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			log = nil
			if err := test.chain.Mutate(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			if err := test.chain.Validate(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(log, test.want) {
				t.Errorf("called %q, want %q", log, test.want)
			}
		})
	}
	skips := func(plugins admission.InTree) bool { return (&admission.Chain{InTree: plugins}).Skips(configMaps) }
	if !skips(nil) || !skips(compiled{}) || skips(compiled{every: true}) {
		t.Error("Skips is wrong")
	}
}

func TestPluginsAreReinvokedOnceOnRequest(t *testing.T) {
	var log []string
	again := func(w *admission.Write) error {
		w.GetReinvocationContext().SetShouldReinvoke()
		return nil
	}
	c := &admission.Chain{Policies: recorder{name: "policies", log: &log}, Webhooks: recorder{name: "webhooks", log: &log, mutate: again}}
	if err := c.Mutate(t.Context(), write(t.Context(), &unstructured.Unstructured{Object: map[string]any{}})); err != nil {
		t.Fatal(err)
	}
	want := []string{"mutate policies", "mutate webhooks", "mutate policies", "mutate webhooks"}
	if !slices.Equal(log, want) {
		t.Errorf("called %q, want %q", log, want)
	}
}

type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// managedFields that plugins make invalid are restored.
func TestInvalidManagedFieldsAreRestored(t *testing.T) {
	entry := map[string]any{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:data": map[string]any{}}}
	for _, c := range []struct {
		rule     string
		sets     []metav1.ManagedFieldsEntry
		want     int // entries
		warnings int
	}{
		{"valid ones stay", []metav1.ManagedFieldsEntry{{Manager: "n", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}")}, {Manager: "o", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}")}}, 2, 0},
		{"an operation that does not exist", []metav1.ManagedFieldsEntry{{Manager: "n", Operation: "Sing", APIVersion: "v1", FieldsType: "FieldsV1"}}, 1, 1},
	} {
		var warned warnings
		ctx := warning.WithWarningRecorder(t.Context(), &warned)
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{entry}}}}
		var log []string
		chain := &admission.Chain{Functions: recorder{name: "functions", log: &log, mutate: func(w *admission.Write) error {
			changed := u.DeepCopy()
			changed.SetManagedFields(c.sets)
			u.Object = changed.Object
			return replaced(w)
		}}}
		if err := chain.Mutate(ctx, write(ctx, u)); err != nil {
			t.Fatal(err)
		}
		got := u.GetManagedFields()
		if len(got) != c.want || len(warned) != c.warnings || c.warnings > 0 && got[0].Manager != "m" {
			t.Errorf("%s: %v, warned of %q", c.rule, got, warned)
		}
	}
}

// replaced marks the object of a write as replaced. The test changes it itself.
func replaced(w *admission.Write) error {
	if err := w.Replace(nil); err == nil {
		return fmt.Errorf("nothing is converted to an object")
	}
	return nil
}

func TestNamespaceLifecycle(t *testing.T) {
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	there, ending, gone := admission.Namespace{Exists: true}, admission.Namespace{Exists: true, Terminating: true}, admission.Namespace{}
	for _, c := range []struct {
		rule       string
		attributes upstream.Attributes
		namespace  admission.Namespace
		want       string
	}{
		{"a create in a namespace", attributes(upstream.Create, widgets, "n", "a", nil), there, ""},
		{"a create in a namespace that does not exist", attributes(upstream.Create, widgets, "n", "a", nil), gone, `namespaces "n" not found`},
		{"a create in a namespace that is being deleted", attributes(upstream.Create, widgets, "n", "a", nil), ending,
			`widgets.example.com "a" is forbidden: unable to create new content in namespace n because it is being terminated`},
		{"an update in a namespace that is being deleted", attributes(upstream.Update, widgets, "n", "a", nil), ending, ""},
		{"a delete in a namespace that is being deleted", attributes(upstream.Delete, widgets, "n", "a", nil), ending, ""},
		{"a create without a namespace", attributes(upstream.Create, widgets, "", "a", nil), gone, ""},
		{"an access review", attributes(upstream.Create, schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "localsubjectaccessreviews"}, "n", "", nil), gone, ""},
		{"the end of a namespace", attributes(upstream.Delete, namespaces, "n", "n", nil), there, ""},
		{"the end of default", attributes(upstream.Delete, namespaces, "default", "default", nil), there, `namespaces "default" is forbidden: this namespace may not be deleted`},
		{"the end of kube-system", attributes(upstream.Delete, namespaces, "kube-system", "kube-system", nil), there, `namespaces "kube-system" is forbidden: this namespace may not be deleted`},
	} {
		got := ""
		if err := admission.NamespaceLifecycle(c.attributes, c.namespace); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.rule, got, c.want)
		}
	}
}
