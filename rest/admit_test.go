package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/rest"
	"github.com/fakecluster/fakecluster/store"
)

// plugin is an admission plugin that records its calls.
type plugin struct {
	calls    []string
	mutate   func(*restadmission.Write) error
	validate func(*restadmission.Write) error
}

func (p *plugin) Mutate(_ context.Context, w *restadmission.Write) error {
	return p.ask("mutate", w, p.mutate)
}

func (p *plugin) Validate(_ context.Context, w *restadmission.Write) error {
	return p.ask("validate", w, p.validate)
}

func (p *plugin) ask(phase string, w *restadmission.Write, answer func(*restadmission.Write) error) error {
	versioned, err := admission.NewVersionedAttributes(w, w.GetKind(), w)
	if err != nil {
		return err
	}
	p.calls = append(p.calls, fmt.Sprintf("%s %s %s/%s %s %s/%s new=%s old=%s %s", phase, w.GetOperation(),
		w.GetResource().Resource, w.GetSubresource(), w.GetKind().Kind, w.GetNamespace(), w.GetName(),
		typeOf(versioned.VersionedObject), typeOf(versioned.VersionedOldObject), w.GetOperationOptions().GetObjectKind().GroupVersionKind().Kind))
	if answer == nil {
		return nil
	}
	return answer(w)
}

func typeOf(o admission.LazyObject) string {
	if o.Object() == nil {
		return "-"
	}
	return fmt.Sprintf("%T %s", o.Object(), o.Object().GetObjectKind().GroupVersionKind().Version)
}

func withPlugin(p restadmission.Plugin) func(*options, *store.Options) {
	return func(o *options, _ *store.Options) { o.Functions = p }
}

func TestAdmissionIsCalledForEveryKindOfWrite(t *testing.T) {
	p := &plugin{}
	c := start(t, withPlugin(p))
	const configMaps = "/api/v1/namespaces/default/configmaps"
	apply := http.Header{"Content-Type": {"application/apply-patch+yaml"}}
	merge := http.Header{"Content-Type": {"application/merge-patch+json"}}
	const custom = "*unstructured.Unstructured v1"
	for _, step := range []struct {
		what   string
		do     func() answer
		phases string // the calls of both phases, after the phase
		more   []string
	}{
		{what: "create", do: func() answer {
			return c.do("POST", configMaps, jsonBody, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		},
			phases: "CREATE configmaps/ ConfigMap default/a new=*v1.ConfigMap v1 old=- CreateOptions"},
		{what: "update", do: func() answer {
			return c.do("PUT", configMaps+"/a", jsonBody, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`)
		},
			phases: "UPDATE configmaps/ ConfigMap default/a new=*v1.ConfigMap v1 old=*v1.ConfigMap v1 UpdateOptions"},
		{what: "an update that changes nothing", do: func() answer {
			return c.do("PUT", configMaps+"/a", jsonBody, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`)
		},
			phases: "UPDATE configmaps/ ConfigMap default/a new=*v1.ConfigMap v1 old=*v1.ConfigMap v1 UpdateOptions"},
		{what: "patch", do: func() answer { return c.do("PATCH", configMaps+"/a", merge, `{"data":{"k":"w"}}`) },
			phases: "UPDATE configmaps/ ConfigMap default/a new=*v1.ConfigMap v1 old=*v1.ConfigMap v1 UpdateOptions"},
		{what: "apply that creates", do: func() answer {
			return c.do("PATCH", configMaps+"/b?fieldManager=me", apply, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
		},
			phases: "CREATE configmaps/ ConfigMap default/b new=*v1.ConfigMap v1 old=- CreateOptions"},
		{what: "delete", do: func() answer { return c.do("DELETE", configMaps+"/a", nil, "") },
			phases: "DELETE configmaps/ ConfigMap default/a new=- old=*v1.ConfigMap v1 DeleteOptions"},
		{what: "deletecollection", do: func() answer { return c.do("DELETE", configMaps, nil, "") },
			phases: "DELETE configmaps/ ConfigMap default/ new=- old=*v1.ConfigMap v1 DeleteOptions"},
		{what: "a namespace", do: func() answer {
			return c.do("POST", "/api/v1/namespaces", jsonBody, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}}`)
		},
			phases: "CREATE namespaces/ Namespace n/n new=*v1.Namespace v1 old=- CreateOptions"},
		{what: "a Lease that an update creates", do: func() answer {
			return c.do("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l", jsonBody, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l"}}`)
		}, phases: "CREATE leases/ Lease default/l new=*v1.Lease v1 old=- CreateOptions"},
		{what: "a definition", do: func() answer { return c.do("POST", definitionsPath, jsonBody, scaled) },
			phases: "CREATE customresourcedefinitions/ CustomResourceDefinition /things.example.com new=*v1.CustomResourceDefinition v1 old=- CreateOptions",
			more: slices.Concat(
				both("UPDATE customresourcedefinitions/status CustomResourceDefinition /things.example.com "+
					"new=*v1.CustomResourceDefinition v1 old=*v1.CustomResourceDefinition v1 UpdateOptions"),
				both("CREATE apiservices/ APIService /v1.example.com new=*v1.APIService v1 old=- CreateOptions"),
				both("CREATE apiservices/ APIService /v2.example.com new=*v1.APIService v1 old=- CreateOptions"),
			)},
		{what: "a custom object", do: func() answer {
			return c.do("POST", things, jsonBody, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"},"spec":{"replicas":1}}`)
		},
			phases: "CREATE things/ Thing default/t new=" + custom + " old=- CreateOptions"},
		{what: "its status", do: func() answer { return c.do("PATCH", things+"/t/status", merge, `{"status":{"replicas":1}}`) },
			phases: "UPDATE things/status Thing default/t new=" + custom + " old=" + custom + " UpdateOptions"},
		{what: "its scale", do: func() answer { return c.do("PATCH", things+"/t/scale", merge, `{"spec":{"replicas":2}}`) },
			phases: "UPDATE things/scale Scale default/t new=*v1.Scale v1 old=*v1.Scale v1 UpdateOptions"},
		{what: "another version of it", do: func() answer { return c.do("DELETE", strings.Replace(things, "v1", "v2", 1)+"/t", nil, "") },
			phases: "DELETE things/ Thing default/t new=- old=*unstructured.Unstructured v2 DeleteOptions"},
	} {
		p.calls = nil
		if a := step.do(); a.code >= 300 {
			t.Errorf("%s: %d %s", step.what, a.code, a.body)
		}
		expect(t, step.what, p.calls, append(both(step.phases), step.more...))
	}
}

func both(calls string) []string { return []string{"mutate " + calls, "validate " + calls} }

const things = "/apis/example.com/v1/namespaces/default/things"

// scaled is a definition with two versions and all subresources.
const scaled = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing"},"versions":[
{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","properties":{"replicas":{"type":"integer","maximum":5},"colour":{"type":"string","default":"red"}}},
"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}},
{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

func TestAdmissionIsCalledForTheContentOfATerminatingNamespace(t *testing.T) {
	p := &plugin{}
	c := start(t, withPlugin(p))
	c.must("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}}`)
	c.must("POST", "/api/v1/namespaces/n/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	p.validate = func(w *restadmission.Write) error {
		if w.GetOperation() == admission.Delete && w.GetKind().Kind == "ConfigMap" {
			expect(t, "who deletes", w.GetUserInfo().GetName(), "system:serviceaccount:kube-system:namespace-controller")
			return errors.New("not this one")
		}
		return nil
	}
	c.must("DELETE", "/api/v1/namespaces/n", "")
	got := c.must("GET", "/api/v1/namespaces/n", "")
	if !strings.Contains(got, `"message":"Failed to delete all resource types, 1 remaining: not this one"`) {
		t.Errorf("the namespace does not say why it stays: %s", got)
	}
	c.must("GET", "/api/v1/namespaces/n/configmaps/a", "")
}

func TestWhatAdmissionMakesOfAnObjectIsPrunedValidatedAndWithoutAnOwner(t *testing.T) {
	p := &plugin{}
	c := start(t, withPlugin(p))
	c.must("POST", definitionsPath, scaled)
	var replicas int64 = 3
	p.mutate = func(w *restadmission.Write) error {
		versioned, err := admission.NewVersionedAttributes(w, schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Thing"}, w)
		if err != nil {
			return err
		}
		u := versioned.VersionedObject.Object().DeepCopyObject()
		m, err := meta.Accessor(u)
		if err != nil {
			return err
		}
		m.SetLabels(map[string]string{"seen": "yes"})
		m.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "1"}, {APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "1"}})
		m.SetManagedFields([]metav1.ManagedFieldsEntry{{Operation: "Nonsense"}})
		setSpec(u, map[string]any{"replicas": replicas, "unknown": true})
		return w.Replace(u)
	}
	p.validate = func(w *restadmission.Write) error {
		expect(t, "what validation sees", specOf(w.GetObject()), map[string]any{"replicas": replicas, "unknown": true})
		return nil
	}
	a := c.do("POST", things, jsonBody, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"},"spec":{"replicas":1}}`)
	expect(t, "code", a.code, http.StatusCreated)
	expect(t, "spec", gjsonGet(a.body, "spec"), `{"colour":"red","replicas":3}`)
	expect(t, "labels", gjsonGet(a.body, "metadata.labels"), `{"seen":"yes"}`)
	expect(t, "owners", gjsonGet(a.body, "metadata.ownerReferences.#"), `1`)
	expect(t, "managed fields", gjsonGet(a.body, "metadata.managedFields.0.fieldsV1"), `{"f:spec":{".":{},"f:colour":{},"f:replicas":{}}}`)
	expect(t, "warnings", a.header["Warning"], []string{
		`299 - ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: operation must be ` + "`Apply` or `Update`" + `"`,
		`299 - ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: 1"`,
	})
	expect(t, "stored", gjsonGet(c.must("GET", things+"/t", ""), "spec"), `{"colour":"red","replicas":3}`)

	replicas, p.validate = 6, func(*restadmission.Write) error {
		t.Error("an invalid object reached validating admission")
		return nil
	}
	a = c.do("POST", things, jsonBody, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"u"},"spec":{"replicas":1}}`)
	expect(t, "message", gjsonGet(a.body, "message"), `"Thing.example.com \"u\" is invalid: spec.replicas: Invalid value: 6: spec.replicas in body should be less than or equal to 5"`)
}

func TestAdmissionMayRenameOnCreate(t *testing.T) {
	p := &plugin{mutate: func(w *restadmission.Write) error {
		obj := w.GetObject().DeepCopyObject()
		metadata, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		metadata.SetName("renamed")
		return w.Replace(obj)
	}}
	c := start(t, withPlugin(p))
	c.must("POST", "/api/v1/namespaces/default/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	c.must("GET", "/api/v1/namespaces/default/configmaps/renamed", "")
	expect(t, "the old name", c.do("GET", "/api/v1/namespaces/default/configmaps/a", nil, "").code, http.StatusNotFound)
}

// No path says which Pod a Binding to the collection binds, so that the name counts which admission leaves in it.
func TestAdmissionMayRenameABinding(t *testing.T) {
	p := &plugin{mutate: func(w *restadmission.Write) error {
		if w.GetKind().Kind != "Binding" {
			return nil
		}
		obj := w.GetObject().DeepCopyObject()
		metadata, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		metadata.SetName("p-other")
		return w.Replace(obj)
	}}
	c := start(t, withPlugin(p))
	const namespace, body = "/api/v1/namespaces/default", `{"metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}`
	c.must("POST", namespace+"/pods", `{"metadata":{"name":"p-other"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	a := c.do("POST", namespace+"/bindings", jsonBody, body)
	expect(t, a.body, a.code, http.StatusCreated)
	expect(t, "the node", gjsonGet(c.must("GET", namespace+"/pods/p-other", ""), "spec.nodeName"), `"n"`)
	a = c.do("POST", namespace+"/pods/p/binding", jsonBody, body)
	expect(t, a.body, a.code, http.StatusBadRequest)
	expect(t, "at the path of a Pod", gjsonGet(a.body, "message"), `"name in URL does not match name in Binding object"`)
}

func TestMetadataOfAWrongTypeFromAdmission(t *testing.T) {
	p := &plugin{}
	c := start(t, withPlugin(p))
	c.must("POST", definitionsPath, scaled)
	c.must("POST", things, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"}}`)
	values := regexp.MustCompile(`\{.*\}`)
	const invalid, unset = "metadata: Invalid value: {}: ", "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
	const noName = "metadata.name: Required value: name or generateName is required, metadata.name: Invalid value: \"\": field is immutable, "
	for _, tt := range []struct {
		field           string // of metadata; empty: all of it
		value           any
		created, update string // the errors; none if accepted
	}{
		{"resourceVersion", 5e-324, invalid + "unrecognized type: string", unset},
		{"generation", "x", "", ""},
		{"uid", int64(5), "", ""},
		{"creationTimestamp", "x", "", ""},
		{"name", int64(5), invalid + "cannot convert int64 to string", "[" + noName + invalid + "cannot convert int64 to string]"},
		{"namespace", int64(5), "", ""},
		{"labels", map[string]any{"a": int64(5)}, invalid + "cannot convert int64 to string", invalid + "cannot convert int64 to string"},
		{"finalizers", "x", invalid + "cannot restore slice from string", invalid + "cannot restore slice from string"},
		{"ownerReferences", []any{int64(5)}, invalid + "cannot restore struct from: int64", invalid + "cannot restore struct from: int64"},
		{"managedFields", int64(5), invalid + "cannot restore slice from int64", invalid + "cannot restore slice from int64"},
		{"managedFields", []any{map[string]any{"manager": "a", "operation": "Update", "time": "x"}},
			invalid + `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`,
			invalid + `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`},
		{"selfLink", int64(5), invalid + "cannot convert int64 to string", invalid + "cannot convert int64 to string"},
		{"deletionTimestamp", int64(5), invalid + "json: cannot unmarshal number into Go value of type string", invalid + "json: cannot unmarshal number into Go value of type string"},
		{"deletionGracePeriodSeconds", "x", invalid + "unrecognized type: int64", invalid + "unrecognized type: int64"},
		{"", int64(5), "Internal error occurred: system metadata was not initialized", unset},
		{"", nil, "Internal error occurred: system metadata was not initialized", unset},
	} {
		p.mutate = func(w *restadmission.Write) error {
			obj := w.GetObject().DeepCopyObject().(*unstructured.Unstructured)
			if tt.field == "" {
				obj.Object["metadata"] = tt.value
			} else {
				obj.Object["metadata"].(map[string]any)[tt.field] = tt.value
			}
			return w.Replace(obj)
		}
		what := fmt.Sprint("metadata.", tt.field, ": ", tt.value)
		check := func(verb string, a answer, want string) {
			message := values.ReplaceAllString(gjson.Get(a.body, "message").Str, "{}")
			if _, after, ok := strings.Cut(message, " is invalid: "); ok {
				message = after
			}
			expect(t, verb+" with "+what, message, want)
		}
		check("a create", c.do("POST", things+"?dryRun=All", jsonBody, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"m"}}`), tt.created)
		check("an update", c.do("PATCH", things+"/t?dryRun=All", http.Header{"Content-Type": {"application/merge-patch+json"}}, `{"spec":{"colour":"blue"}}`), tt.update)
	}
}

// pruned is a definition whose schema drops the replicas that a write of the scale sets.
const pruned = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing"},"versions":[
{"name":"v1","served":true,"storage":true,"subresources":{"scale":{"specReplicasPath":".spec.a","statusReplicasPath":".status.replicas"}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"colour":{"type":"string"}}}}}}}]}}`

func TestAWriteOfAScaleMayLeaveNoReplicas(t *testing.T) {
	p := &plugin{}
	c := start(t, withPlugin(p))
	c.must("POST", definitionsPath, pruned)
	c.must("POST", things, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"},"spec":{"colour":"red"}}`)
	merge := http.Header{"Content-Type": {"application/merge-patch+json"}}
	var seen []string
	p.validate = func(w *restadmission.Write) error {
		after, before := w.GetObject().(*autoscalingv1.Scale), w.GetOldObject().(*autoscalingv1.Scale)
		seen = append(seen, fmt.Sprint(before.Spec.Replicas, len(before.ManagedFields), " to ", after.Spec.Replicas))
		return nil
	}
	scale := things + "/t/scale"
	for _, step := range []struct {
		method string
		header http.Header
		body   string
		code   int
		spec   string
		error  string
	}{
		{"GET", nil, "", 500, "", `"Internal error occurred: the spec replicas field \".spec.a\" does not exist"`},
		{"PATCH", merge, `{"metadata":{"labels":{"a":"b"}}}`, 400, "", `"the spec replicas field \".spec.a\" cannot be empty"`},
		{"PATCH", merge, `{"spec":null}`, 200, "{}", ""},
		{"PATCH", merge, `{"spec":{"replicas":3}}`, 200, "{}", ""},
		{"PUT", jsonBody, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"t"},"spec":{"replicas":3}}`, 200, "{}", ""},
		{"GET", nil, "", 500, "", `"Internal error occurred: the spec replicas field \".spec.a\" does not exist"`},
	} {
		a := c.do(step.method, scale, step.header, step.body)
		what := step.method + " " + step.body
		expect(t, what+": code", a.code, step.code)
		expect(t, what+": spec", gjsonGet(a.body, "spec"), step.spec)
		if step.error != "" {
			expect(t, what+": message", gjsonGet(a.body, "message"), step.error)
		}
	}
	expect(t, "what validation sees", seen, []string{"0 0 to 0", "0 0 to 3", "0 0 to 3"})
}

// An apply stores what it creates under the name of the request, by which no selector picks it if admission has renamed it.
func TestARenamedObjectIsNotSelectedByTheNameOfItsRequest(t *testing.T) {
	p := &plugin{mutate: func(w *restadmission.Write) error {
		obj := w.GetObject().DeepCopyObject()
		metadata, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		metadata.SetName("renamed")
		return w.Replace(obj)
	}}
	c := start(t, withPlugin(p))
	a := c.do("PATCH", configMapsPath+"/a?fieldManager=m", http.Header{"Content-Type": {"application/apply-patch+yaml"}}, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	expect(t, a.body, a.code, http.StatusCreated)
	expect(t, "its own name", gjsonGet(c.must("GET", configMapsPath+"/a", ""), "metadata.name"), `"renamed"`)
	const query = configMapsPath + "?fieldSelector=metadata.name%3Da"
	expect(t, "listed", gjsonGet(c.must("GET", query, ""), "items.#"), "0")
	expect(t, "watched", c.must("GET", query+"&watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", ""), "")
	expect(t, "deleted", gjsonGet(c.must("DELETE", query, ""), "items.#"), "0")
	c.must("GET", configMapsPath+"/a", "")
}

func TestAdmissionChangesScalesAndDefinitions(t *testing.T) {
	p := &plugin{}
	c := start(t, withPlugin(p))
	p.mutate = func(w *restadmission.Write) error {
		versioned, err := admission.NewVersionedAttributes(w, w.GetKind(), w)
		if err != nil {
			return err
		}
		obj := versioned.VersionedObject.Object().DeepCopyObject()
		if scale, ok := obj.(*autoscalingv1.Scale); ok {
			scale.Spec.Replicas++
		}
		if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
			crd.Spec.Names.ShortNames = []string{"th"}
		}
		return w.Replace(obj)
	}
	c.must("POST", definitionsPath, scaled)
	expect(t, "short names", gjsonGet(c.must("GET", definitionsPath+"/things.example.com", ""), "spec.names.shortNames"), `["th"]`)
	c.must("POST", things, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"},"spec":{"replicas":1}}`)
	merge := http.Header{"Content-Type": {"application/merge-patch+json"}}
	a := c.do("PATCH", things+"/t/scale", merge, `{"spec":{"replicas":2}}`)
	expect(t, "the Scale", gjsonGet(a.body, "spec.replicas"), "3")
	expect(t, "the object", gjsonGet(c.must("GET", things+"/t", ""), "spec.replicas"), "3")

	c.must("POST", things, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"u"},"spec":{}}`)
	a = c.do("PUT", things+"/u/scale", jsonBody, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"u","namespace":"default"},"spec":{"replicas":1}}`)
	expect(t, "the first Scale of an object without replicas", gjsonGet(a.body, "spec.replicas"), "2")
}

func gjsonGet(text, path string) string { return gjson.Get(text, path).Raw }

func setSpec(obj runtime.Object, spec map[string]any) {
	obj.(*unstructured.Unstructured).Object["spec"] = spec
}

func specOf(obj runtime.Object) any { return obj.(*unstructured.Unstructured).Object["spec"] }

func TestAServerStartsOverAStoreWhoseWebhooksAreOutOfReach(t *testing.T) {
	c := start(t)
	c.must("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", `{"metadata":{"name":"v"},"webhooks":[{"name":"v.example.com",
"clientConfig":{"url":"https://127.0.0.1:1"},"sideEffects":"None","admissionReviewVersions":["v1"],
"rules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*"]}]}]}`)
	snapshot, err := c.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Load(snapshot, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server, err := server.New(s, server.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	again := &cluster{t: t, bearer: token, store: s, server: server, handler: rest.New(server, rest.Options{})}
	a := again.serve("POST", "/api/v1/namespaces/default/configmaps", jsonBody, []byte(`{"metadata":{"name":"a"}}`))
	expect(t, "the webhook is in force", gjsonGet(a.body, "message"), `"Internal error occurred: failed calling webhook \"v.example.com\": `+
		`failed to call webhook: Post \"https://127.0.0.1:1/?timeout=10s\": dial tcp 127.0.0.1:1: connect: connection refused"`)
}

func TestDuplicateOwnersAreFoundAfterAdmissionInAPatch(t *testing.T) {
	c := start(t)
	const configMaps = "/api/v1/namespaces/default/configmaps"
	const owners = `"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"1"},{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"1"}]`
	const rest = `; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: 1"`
	made := c.do("POST", configMaps, jsonBody, `{"metadata":{"name":"a",`+owners+`}}`)
	expect(t, "create", made.header["Warning"], []string{`299 - ".metadata.ownerReferences contains duplicate entries` + rest})
	replaced := c.do("PUT", configMaps+"/a", jsonBody, `{"metadata":{"name":"a",`+owners+`}}`)
	expect(t, "update", replaced.header["Warning"], []string{`299 - ".metadata.ownerReferences contains duplicate entries` + rest})
	missing := c.do("PUT", "/api/v1/namespaces/default/events/a", jsonBody, `{"metadata":{"name":"a",`+owners+`}}`)
	expect(t, "update that creates", missing.header["Warning"], []string{`299 - ".metadata.ownerReferences contains duplicate entries` + rest})
	missing = c.do("PUT", "/api/v1/namespaces/default/secrets/a", jsonBody, `{"metadata":{"name":"a",`+owners+`}}`)
	expect(t, "update of nothing", missing.header["Warning"], []string{`299 - ".metadata.ownerReferences contains duplicate entries` + rest})
	patched := c.do("PATCH", configMaps+"/a", http.Header{"Content-Type": {"application/merge-patch+json"}}, `{"metadata":{`+owners+`}}`)
	expect(t, "patch", patched.header["Warning"], []string{`299 - ".metadata.ownerReferences contains duplicate entries after mutating admission happens` + rest})
}
