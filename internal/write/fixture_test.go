package write_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/testing/compare"
	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
	"github.com/fakecluster/fakecluster/internal/testing/memorytest"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

const definition = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "widgets.example.com", "uid": "u"},
	"spec": {
		"group": "example.com", "scope": "Namespaced",
		"names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
		"versions": [{
			"name": "v1", "served": true, "storage": true,
			"subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
			"schema": {"openAPIV3Schema": {"type": "object", "properties": {
				"spec": {"type": "object", "properties": {
					"replicas": {"type": "integer", "default": 1}, "color": {"type": "string"}, "size": {"type": "string"}}},
				"status": {"type": "object", "properties": {"replicas": {"type": "integer"}}}}}}
		}]
	},
	"status": {
		"acceptedNames": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
		"conditions": [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}],
		"storedVersions": ["v1"]
	}
}`

// bench is a pipeline over a store that has a namespace and a definition. It is what
// admission sees of a server, too.
type bench struct {
	*write.Pipeline
	t           *testing.T
	definitions *resource.Resource
	// changes are what was committed.
	changes []string
	// forget, if it is not nil, alters the versions of widgets.
	forget func(*resource.Version)
	// mutate and validate are called for each write, if they are not nil.
	mutate, validate func(*admission.Write) error
}

func newBench(t *testing.T) *bench {
	s, err := store.Open(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	seed := uint64(1)
	b := &bench{t: t, definitions: crd.Definitions(false)}
	b.Pipeline = &write.Pipeline{
		Store: s, Memory: resource.NewMemory(memorytest.Wanted()), Random: write.NewRandom(&seed, store.FirstRevision), Namespaces: resource.NewRegistry(0, builtin.Resources(builtin.Options{}, nil), nil).Resource("", "namespaces"),
		Now:      func() metav1.Time { return metav1.Unix(1_700_000_000, 0) },
		Registry: b.registry, Chain: b.chain, Cluster: b,
	}
	b.put(b.Namespaces.Key("", "default"), `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"},"status":{"phase":"Active"}}`)
	b.put(crd.DefinitionsPrefix+"widgets.example.com", definition)
	return b
}

// put stores a record past the pipeline.
func (b *bench) put(key, text string) {
	b.t.Helper()
	w := store.Write{Make: func(revision int64) string { return view.WithResourceVersion(text, revision) }, Tag: "v1"}
	before, err := b.Store.Get(key)
	if err == nil {
		_, err = b.Store.Update(key, before.Revision, w)
	} else {
		_, err = b.Store.Create(key, w)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// drop removes a record past the pipeline.
func (b *bench) drop(key string) {
	b.t.Helper()
	before, err := b.Store.Get(key)
	if err == nil {
		_, err = b.Store.Delete(key, before.Revision, store.Write{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) registry() (*resource.Registry, error) {
	list, err := b.Store.List(crd.DefinitionsPrefix, store.ListOptions{})
	if err != nil {
		return nil, err
	}
	var definitions []*resource.Definition
	for _, record := range list.Records {
		obj, err := b.definitions.Storage.Codec.DecodeStored(record)
		if err != nil {
			return nil, err
		}
		d, err := crd.Compile(record, obj.(*apiextensions.CustomResourceDefinition), crd.Outside{})
		if err != nil {
			return nil, err
		}
		for _, v := range d.Resource.Versions {
			if b.forget != nil {
				b.forget(v)
			}
		}
		definitions = append(definitions, d)
	}
	return resource.NewRegistry(list.Revision, []*resource.Resource{b.Namespaces, b.definitions}, definitions), nil
}

func (b *bench) chain() *admission.Chain {
	if b.mutate == nil && b.validate == nil {
		return &admission.Chain{}
	}
	return &admission.Chain{Functions: plugin{b}}
}

type plugin struct{ *bench }

func (p plugin) Mutate(_ context.Context, w *admission.Write) error {
	if p.mutate == nil {
		return nil
	}
	return p.mutate(w)
}

func (p plugin) Validate(_ context.Context, w *admission.Write) error {
	if p.validate == nil {
		return nil
	}
	return p.validate(w)
}

// Run carries out a write for the bench.
func (b *bench) Run(ctx context.Context, r write.Request) (write.Result, error) {
	return b.Pipeline.Run(ctx, b, &r)
}

// Charge implements write.Server: there are no quotas.
func (b *bench) Charge(context.Context, write.Use) (write.Charge, error) { return write.Charge{}, nil }

// Committed implements write.Server.
func (b *bench) Committed(_ context.Context, c write.Commit) {
	what := "updated"
	switch {
	case c.Deleted:
		what = "deleted"
	case c.Previous.Key == "":
		what = "created"
	}
	b.changes = append(b.changes, what+" "+c.Resource.Names.Plural+" "+c.Namespace+"/"+c.Name)
}

// bench implements admission.Cluster as far as the plugins of the tests ask.
func (b *bench) Registry() *resource.Registry {
	c, err := b.registry()
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}
func (b *bench) Now() time.Time                              { return b.Pipeline.Now().Time }
func (b *bench) Namespace(string) (*corev1.Namespace, error) { return &corev1.Namespace{}, nil }
func (b *bench) Get(*resource.Version, string, string) (runtime.Object, error) {
	return nil, store.ErrNotFound
}
func (b *bench) List(*resource.Version, string, labels.Selector) ([]runtime.Object, error) {
	return nil, nil
}
func (b *bench) Authorizer() authorizer.UnconditionalAuthorizer {
	return authorizerfactory.NewAlwaysAllowAuthorizer()
}
func (b *bench) HookClient(webhook.ClientConfig, bool) (*rest.RESTClient, error) { return nil, nil }

// widgets is the version that widgets are served in.
func (b *bench) widgets() *resource.Version {
	b.t.Helper()
	return b.Registry().Resource("example.com", "widgets").Version("v1")
}

// request is a write of the widget a.
func (b *bench) request(change write.Change) write.Request {
	return write.Request{Version: b.widgets(), Namespace: "default", Name: "a", Change: change, Manager: "tester"}
}

// make creates the widget a past all hooks.
func (b *bench) make() {
	b.t.Helper()
	mutate, validate := b.mutate, b.validate
	b.mutate, b.validate = nil, nil
	if _, err := b.Run(b.t.Context(), b.request(write.Create{Object: b.widget(`{"spec":{"color":"red"}}`)})); err != nil {
		b.t.Fatal(err)
	}
	b.mutate, b.validate = mutate, validate
	b.changes = nil
}

// widget decodes a widget, which is called a unless it says otherwise.
func (b *bench) widget(text string) write.Made {
	return func(v *resource.Version) (resource.Decoded, error) {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
			return resource.Decoded{}, err
		}
		u.SetAPIVersion("example.com/v1")
		u.SetKind("Widget")
		if u.GetName() == "" && u.GetGenerateName() == "" {
			u.SetName("a")
		}
		body, err := u.MarshalJSON()
		if err != nil {
			return resource.Decoded{}, err
		}
		obj, _, err := v.Codec.Decode(body, v.Serializer.SupportedMediaTypes()[0].StrictSerializer)
		return obj, err
	}
}

func (b *bench) key() string { return b.widgets().Resource.Key("default", "a") }

// color has another writer give the widget a a color.
func (b *bench) color(color string) {
	b.t.Helper()
	r, err := b.Store.Get(b.key())
	if err != nil {
		b.t.Fatal(err)
	}
	b.put(b.key(), strings.Replace(r.Value, `"color":"red"`, `"color":"`+color+`"`, 1))
}

// stored are some fields of the widget a; "" for one that is not there.
func (b *bench) stored(paths ...string) []string {
	b.t.Helper()
	r, err := b.Store.Get(b.key())
	if err != nil {
		b.t.Fatal(err)
	}
	return read(r.Value, paths...)
}

func read(text string, paths ...string) []string {
	var values []string
	for _, value := range gjson.GetMany(text, paths...) {
		values = append(values, value.String())
	}
	return values
}

var equal = compare.Equal

// once returns a function that calls another one the first time.
func once(f func()) func() {
	done := false
	return func() {
		if !done {
			done = true
			f()
		}
	}
}
