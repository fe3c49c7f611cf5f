package fakecluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

func TestAuditEventsHaveTheUserTheObjectAndTheWebhooks(t *testing.T) {
	mutator := &hook{answer: patch(`[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`)}
	c := withHook(t, mutator, fakecluster.InProcess(), fakecluster.WithAudit(auditv1.LevelRequest))
	configure(t, c, hookConfiguration(t, c, mutating, "m", nil))
	ignore := admissionregistrationv1.Ignore
	configure(t, c, hookConfiguration(t, c, mutating, "n", func(w *admissionregistrationv1.MutatingWebhook) {
		w.FailurePolicy, w.ClientConfig.Service.Name = &ignore, "nowhere"
	}))
	configure(t, c, hookConfiguration(t, c, validating, "v", func(w *admissionregistrationv1.MutatingWebhook) {
		w.FailurePolicy, w.ClientConfig.Service.Name = &ignore, "nowhere"
	}))
	before := len(c.Audit())
	create(t, inDefault(c), cronTab("a"))
	mutator.answer = func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "no"}, AuditAnnotations: map[string]string{"why": "because"}}
	}
	err := inDefault(c).Delete(t.Context(), "a", metav1.DeleteOptions{})
	fails(t, "delete", err, `admission webhook "m.example.com" denied the request: no`)

	events := c.Audit()[before:]
	equal(t, "number of events", len(events), 2)
	made, refused := events[0], events[1]
	equal(t, "create", []any{made.Kind, made.APIVersion, made.Level, made.Stage, made.Verb, made.RequestURI, made.User.Username, made.ResponseStatus.Code},
		[]any{"Event", "audit.k8s.io/v1", auditv1.LevelRequest, auditv1.StageResponseComplete, "create",
			"/apis/stable.example.com/v1/namespaces/default/crontabs", "kubernetes-admin", int32(201)})
	equal(t, "object of the create", made.ObjectRef, &auditv1.ObjectReference{
		Resource: "crontabs", Namespace: "default", Name: "a", APIGroup: "stable.example.com", APIVersion: "v1"})
	equal(t, "annotations of the create", made.Annotations, map[string]string{
		"authorization.k8s.io/decision":                                   "allow",
		"authorization.k8s.io/reason":                                     "",
		"mutation.webhook.admission.k8s.io/round_0_index_0":               `{"configuration":"m","webhook":"m.example.com","mutated":true}`,
		"patch.webhook.admission.k8s.io/round_0_index_0":                  `{"configuration":"m","webhook":"m.example.com","patch":[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}],"patchType":"JSONPatch"}`,
		"mutation.webhook.admission.k8s.io/round_0_index_1":               `{"configuration":"n","webhook":"n.example.com","mutated":false}`,
		"failed-open.mutation.webhook.admission.k8s.io/round_0_index_1":   "n.example.com",
		"failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "v.example.com",
	})
	if got := string(made.RequestObject.Raw); !strings.Contains(got, `"image":"my-awesome-cron-image"`) || strings.Contains(got, "labels") {
		t.Errorf("what was sent: %s", got)
	}
	equal(t, "what was answered", made.ResponseObject == nil, true)

	equal(t, "delete", []any{refused.Verb, refused.ObjectRef.Name, refused.ResponseStatus.Code, refused.ResponseStatus.Message},
		[]any{"delete", "a", int32(400), `admission webhook "m.example.com" denied the request: no`})
	equal(t, "annotations of the delete", refused.Annotations, map[string]string{
		"authorization.k8s.io/decision":                     "allow",
		"authorization.k8s.io/reason":                       "",
		"m.example.com/why":                                 "because",
		"mutation.webhook.admission.k8s.io/round_0_index_0": `{"configuration":"m","webhook":"m.example.com","mutated":false}`,
	})
}

func TestAuditLevelsOwnWritesAndDeprecation(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		crd := cronTabDefinition()
		crd.Spec.Versions[0].Deprecated = true
		c := fakecluster.Start(t, append(way, fakecluster.WithAudit(auditv1.LevelRequestResponse), fakecluster.WithObjects(crd))...)
		before := len(c.Audit())
		create(t, inDefault(c), cronTab("a"))
		w, err := inDefault(c).Watch(t.Context(), metav1.ListOptions{})
		must(t, err)
		next(t, w, 1)
		_, err = c.Dynamic().Resource(cronTabs).Namespace("nowhere").Get(t.Context(), "b", metav1.GetOptions{})
		fails(t, "get", err, `crontabs.stable.example.com "b" not found`)
		events := c.Audit()[before:]
		var got []string
		for _, e := range events {
			got = append(got, fmt.Sprint(e.Verb, " ", e.Stage, " ", e.ResponseStatus.Code, " ", e.Annotations["k8s.io/deprecated"]))
		}
		equal(t, "events", got, []string{"create ResponseComplete 201 true", "watch ResponseStarted 200 true", "get ResponseComplete 404 true"})
		if answer := string(events[0].ResponseObject.Raw); !strings.Contains(answer, `"uid":`) {
			t.Errorf("the answer in the event: %s", answer)
		}
		equal(t, "reason", events[2].ResponseStatus.Reason, metav1.StatusReasonNotFound)
		w.Stop()

		before = len(c.Audit())
		deleteDefinition(t, c, definition)
		byWhom := map[string]bool{}
		for _, e := range c.Audit()[before:] {
			byWhom[fmt.Sprint(e.User.Username, " ", e.Verb, " ", e.ObjectRef.Resource, "/", e.ObjectRef.Subresource, " ", e.ObjectRef.Name)] = true
		}
		for _, want := range []string{
			"kubernetes-admin delete customresourcedefinitions/ " + definition,
			"system:apiserver delete crontabs/ a",
			"system:apiserver update customresourcedefinitions/status " + definition,
		} {
			equal(t, want, byWhom[want], true)
		}
	})
	policies := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAudit(auditv1.LevelMetadata), fakecluster.WithObjects(
		configMapPolicy("p", admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: []admissionregistrationv1.Validation{{Expression: "true"}}})))
	var ofPolicy []string
	for _, e := range policies.Audit() {
		if e.ObjectRef != nil && e.ObjectRef.Resource == "validatingadmissionpolicies" {
			ofPolicy = append(ofPolicy, fmt.Sprint(e.User.Username, " ", e.Verb, " ", e.RequestURI, " ", e.ResponseStatus.Code))
		}
	}
	equal(t, "events of a policy, whose status a controller applies", ofPolicy, []string{
		"system:serviceaccount:kube-system:validatingadmissionpolicy-status-controller patch /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/p/status 200",
		"kubernetes-admin create /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies 201",
	})

	legacy := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithLegacyAPIs(), fakecluster.WithAudit(auditv1.LevelMetadata))
	must(t, legacy.Discovery().RESTClient().Get().AbsPath("/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions").Do(t.Context()).Error())
	last := legacy.Audit()[len(legacy.Audit())-1]
	equal(t, "a version of old", last.Annotations, map[string]string{
		"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "",
		"k8s.io/deprecated": "true", "k8s.io/removed-release": "1.22",
	})
	equal(t, "without the option", len(fakecluster.Start(t, fakecluster.InProcess()).Audit()), 0)
	equal(t, "a level that is not there", refused(t, fakecluster.WithAudit("Everything")), `WithAudit: there is no level "Everything"; the levels are None, Metadata, Request and RequestResponse`)
}

// When a client has read an answer to its end, the audit trail has the event of the request. This
// holds for answers of any size, over HTTP and in process.
func TestTheAuditEventExistsBeforeTheResponseEnds(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := fakecluster.Start(t, append(way, fakecluster.WithAudit(auditv1.LevelMetadata))...)
		configMaps := c.Dynamic().Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
		for name, size := range map[string]int{"small": 10, "large": 200 << 10} {
			_, err := configMaps.Create(t.Context(), &unstructured.Unstructured{Object: object{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name}, "data": object{"k": strings.Repeat("x", size)}}}, metav1.CreateOptions{})
			must(t, err)
			for n := range 100 {
				before := len(c.Audit())
				_, err := configMaps.Get(t.Context(), name, metav1.GetOptions{})
				must(t, err)
				equal(t, fmt.Sprintf("events of get %d of the %s object", n, name), len(c.Audit())-before, 1)
			}
			before := len(c.Audit())
			_, err = configMaps.List(t.Context(), metav1.ListOptions{})
			must(t, err)
			equal(t, "events of a list", len(c.Audit())-before, 1)
		}
		_, err := configMaps.Get(t.Context(), "nosuch", metav1.GetOptions{})
		fails(t, "get", err, `configmaps "nosuch" not found`)
		events := c.Audit()
		equal(t, "the last event", events[len(events)-1].ResponseStatus.Code, int32(404))
	})
}

func TestTheAuditEventOfADefinitionHasItsObject(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAudit(auditv1.LevelRequest))
	definitions := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions()
	byVerb := func() map[string]auditv1.Event {
		events := map[string]auditv1.Event{}
		for _, e := range c.Audit() {
			if e.User.Username == "kubernetes-admin" {
				events[e.Verb] = e
			}
		}
		return events
	}
	_, err := definitions.Create(t.Context(), cronTabDefinition(), metav1.CreateOptions{})
	must(t, err)
	made, err := definitions.Get(t.Context(), definition, metav1.GetOptions{})
	must(t, err)
	made.Labels = map[string]string{"a": "b"}
	_, err = definitions.Update(t.Context(), made, metav1.UpdateOptions{})
	must(t, err)
	events := byVerb()
	for verb, wants := range map[string]string{"create": `"plural":"crontabs"`, "update": `"labels":{"a":"b"}`} {
		e := events[verb]
		equal(t, "name of the "+verb, e.ObjectRef.Name, definition)
		if e.RequestObject == nil {
			t.Errorf("the event of the %s has no object", verb)
			continue
		}
		sent := string(e.RequestObject.Raw)
		if !strings.HasPrefix(sent, `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1",`) || !strings.Contains(sent, wants) {
			t.Errorf("what was sent by the %s: %s", verb, sent)
		}
	}
}

func TestAuditEventsHaveResponsesAsJSON(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.WithAudit(auditv1.LevelRequestResponse))
	configMaps := c.Dynamic().Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
	_, err := configMaps.Create(t.Context(), &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "a"}, "data": object{"k": strings.Repeat("x", 200<<10)}}}, metav1.CreateOptions{})
	must(t, err)
	inEvent := func(verb, header, value, path, want string) {
		t.Helper()
		if got := c.Discovery().RESTClient().Verb(verb).AbsPath(path).SetHeader(header, value).Do(t.Context()).Error(); got != nil && !apierrors.IsNotFound(got) {
			t.Fatal(got)
		}
		e := c.Audit()[len(c.Audit())-1]
		if e.ResponseObject == nil || !strings.HasPrefix(string(e.ResponseObject.Raw), want) {
			t.Errorf("%s %s with %s %s: the answer in the event is %.100s", verb, path, header, value, e.ResponseObject)
		}
	}
	answered := func(header, value, path, want string) {
		t.Helper()
		inEvent("GET", header, value, path, want)
	}
	answered("Accept", "application/yaml", "/api/v1/namespaces/default/configmaps/a", `{"kind":"ConfigMap","apiVersion":"v1",`)
	answered("Accept", "application/vnd.kubernetes.protobuf", "/api/v1/namespaces/default/configmaps/a", `{"kind":"ConfigMap","apiVersion":"v1",`)
	answered("Accept-Encoding", "gzip", "/api/v1/namespaces/default/configmaps", `{"kind":"ConfigMapList","apiVersion":"v1",`)
	answered("Accept-Encoding", "gzip", "/api/v1/namespaces/default/configmaps/a", `{"kind":"ConfigMap","apiVersion":"v1",`)

	const protobuf = "application/vnd.kubernetes.protobuf"
	for _, form := range []string{"application/yaml", protobuf} {
		answered("Accept", form, "/api/v1/namespaces/default/configmaps", `{"kind":"ConfigMapList","apiVersion":"v1",`)
		answered("Accept", form, "/api/v1/namespaces/default/configmaps/b", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"b\" not found",`)
	}
	answered("Accept", "application/yaml;as=Table;g=meta.k8s.io;v=v1", "/api/v1/namespaces/default/configmaps", `{"kind":"Table","apiVersion":"meta.k8s.io/v1",`)
	answered("Accept", protobuf+";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "/api/v1/namespaces/default/configmaps/a", `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",`)
	inEvent("DELETE", "Accept", protobuf, "/api/v1/namespaces/default/configmaps/a", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success",`)
}

func TestTheAuditTrailIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it sends ten thousand requests")
	}
	if seedtest.RaceDetector {
		t.Skip("one client makes ten thousand requests: there is nothing to race with, and under the race detector it takes a minute")
	}
	many := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAudit(auditv1.LevelMetadata))
	version := many.Discovery().RESTClient().Get().AbsPath("/version")
	for range 10_010 {
		must(t, version.Do(t.Context()).Error())
	}
	events := many.Audit()
	equal(t, "number of events", len(events), 10_000)
	equal(t, "what they are of", []string{events[0].RequestURI, events[9999].RequestURI}, []string{"/version", "/version"})

	large := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAudit(auditv1.LevelRequestResponse))
	text := strings.Repeat("x", 1<<20)
	configMaps := large.Dynamic().Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
	_, err := configMaps.Create(t.Context(), &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "a"}, "data": object{"k": text}}}, metav1.CreateOptions{})
	must(t, err)
	for range 70 {
		_, err := configMaps.Get(t.Context(), "a", metav1.GetOptions{})
		must(t, err)
	}
	equal(t, "number of large events", len(large.Audit()), 63)
}

func TestAuditEventsOfForbiddenRequests(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAudit(auditv1.LevelMetadata))
	config := c.RESTConfig()
	config.BearerToken = "guessed"
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	_, err = client.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
	fails(t, "get", err, "Unauthorized")
	events := c.Audit()
	last := events[len(events)-1]
	equal(t, "event", []any{last.Verb, last.User.Username, last.ObjectRef.Name, last.ResponseStatus.Code, last.ResponseStatus.Reason, len(last.Annotations)},
		[]any{"get", "", "a", int32(401), metav1.StatusReasonUnauthorized, 0})
}

func TestAuditEventsHaveLatencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := 200 * time.Millisecond
		decide := authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			time.Sleep(took)
			return authorizer.DecisionAllow, "", nil
		})
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAudit(auditv1.LevelMetadata), fakecluster.WithAuthorizer(decide))
		config := c.ConfigFor("jane")
		config.Impersonate.UserName = "bob"
		list := func() map[string]string {
			t.Helper()
			_, err := dynamic.NewForConfigOrDie(config).Resource(namespaces).List(t.Context(), metav1.ListOptions{})
			must(t, err)
			events := c.Audit()
			annotations := map[string]string{}
			for name, value := range events[len(events)-1].Annotations {
				if layer, ok := strings.CutPrefix(name, "apiserver.latency.k8s.io/"); ok {
					annotations[layer] = value
				}
			}
			return annotations
		}
		equal(t, "three decisions of 200 ms", list(), map[string]string{"impersonation": "400ms", "authorization": "200ms", "total": "600ms"})
		took = 150 * time.Millisecond
		equal(t, "450 ms are not long", list(), map[string]string{})
	})
}
