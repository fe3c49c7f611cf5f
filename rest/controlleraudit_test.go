package rest_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/store"
)

func withAudit(level auditinternal.Level) func(*options, *store.Options) {
	return func(o *options, _ *store.Options) { o.AuditLevel = level }
}

// ownWrites are the events of the server's own controllers, by verb, resource and name.
func (c *cluster) ownWrites() map[string]auditv1.Event {
	own := map[string]auditv1.Event{}
	for _, e := range c.server.Audit.Events() {
		if e.User.Username != "kubernetes-admin" {
			resource := strings.TrimSuffix(e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/")
			own[fmt.Sprint(e.Verb, " ", resource, " ", e.ObjectRef.Name)] = e
		}
	}
	return own
}

func TestTheWriteOfAControllerHasInItsEventWhatWasSentAndAnswered(t *testing.T) {
	c := start(t, withCollection, withAudit(auditinternal.LevelRequestResponse))
	c.must("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}}`)
	c.must("POST", "/api/v1/namespaces/n/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	c.must("POST", "/api/v1/namespaces/n/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"held","finalizers":["example.com/hold"]}}`)
	c.configMap("owner")
	c.must("POST", secretsPath, c.ownedSecret("dependent", "owner", ""))
	c.must("POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
		"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["x"],"apiVersions":["*"],"operations":["*"],"resources":["*"]}]},
		"validations":[{"expression":"true"}]}}`)
	uid := gjson.Get(c.must("GET", secretsPath+"/dependent", ""), "metadata.uid").Str
	revision := gjson.Get(c.must("DELETE", configMapsPath+"/owner?propagationPolicy=Foreground", ""), "metadata.resourceVersion").Str
	c.must("DELETE", "/api/v1/namespaces/n", "")
	merge := http.Header{"Content-Type": {"application/merge-patch+json"}}
	c.do("PATCH", "/api/v1/namespaces/n/secrets/held", merge, `{"metadata":{"finalizers":null}}`)

	c.must("POST", definitionsPath, knobs("v1beta1"))
	knob := gjson.Get(c.must("POST", "/apis/example.com/v1/namespaces/default/knobs", `{"apiVersion":"example.com/v1","kind":"Knob","metadata":{"name":"k"}}`), "metadata.resourceVersion").Str
	c.do("PATCH", definitionsPath+"/knobs.example.com", merge, gjson.Get(knobs("v1"), "@this|{spec}").Raw)
	c.must("POST", "/apis/storagemigration.k8s.io/v1/storageversionmigrations",
		`{"apiVersion":"storagemigration.k8s.io/v1","kind":"StorageVersionMigration","metadata":{"name":"m"},"spec":{"resource":{"group":"example.com","resource":"knobs"}}}`)

	own := c.ownWrites()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	const manager = "system:serviceaccount:kube-system:"
	for _, tt := range []struct {
		rule, write, agent string
		sent, answered     map[string]string // by path
	}{
		{"an update sends the object and is answered with it", "update namespaces/finalize n",
			"kube-controller-manager/" + release.Libraries + " (" + platform + ") kubernetes/unknown/" + manager + "namespace-controller",
			map[string]string{"kind": "Namespace", "apiVersion": "v1", "metadata.name": "n", "spec": "{}"},
			map[string]string{"kind": "Namespace", "apiVersion": "v1", "metadata.name": "n", "spec": "{}"}},
		{"an apply sends the configuration", "patch validatingadmissionpolicies/status p",
			"kube-controller-manager/" + release.Libraries + " (" + platform + ") kubernetes/unknown/" + manager + "validatingadmissionpolicy-status-controller",
			map[string]string{"kind": "ValidatingAdmissionPolicy", "metadata.name": "p", "status.observedGeneration": "1", "spec": ""},
			map[string]string{"kind": "ValidatingAdmissionPolicy", "metadata.name": "p", "status.observedGeneration": "1", "spec.failurePolicy": "Fail"}},
		{"a delete sends its options and is answered with a Status", "delete configmaps a",
			"kube-controller-manager/" + release.Libraries + " (" + platform + ") kubernetes/unknown/" + manager + "namespace-controller",
			map[string]string{"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal", "propagationPolicy": "Background"}, // so does a real server write v1
			map[string]string{"kind": "Status", "apiVersion": "v1", "status": "Success", "details.name": "a", "details.kind": "configmaps"}},
		{"a delete that has only begun is answered with the object", "delete secrets held",
			"kube-controller-manager/" + release.Libraries + " (" + platform + ") kubernetes/unknown/" + manager + "namespace-controller",
			map[string]string{"kind": "DeleteOptions", "propagationPolicy": "Background"},
			map[string]string{"kind": "Secret", "metadata.name": "held", "metadata.finalizers.0": "example.com/hold"}},
		{"the collector sends its preconditions", "delete secrets dependent",
			"kube-controller-manager/" + release.Libraries + " (" + platform + ") kubernetes/unknown/" + manager + "generic-garbage-collector",
			map[string]string{"kind": "DeleteOptions", "propagationPolicy": "Background", "preconditions.uid": uid},
			map[string]string{"kind": "Status", "status": "Success", "details.name": "dependent"}},
		{"the collector sends the finalizers that remain", "patch configmaps owner",
			"kube-controller-manager/" + release.Libraries + " (" + platform + ") kubernetes/unknown/" + manager + "generic-garbage-collector",
			map[string]string{"metadata.finalizers": "", "metadata.resourceVersion": revision},
			map[string]string{"kind": "ConfigMap", "metadata.name": "owner", "metadata.finalizers": ""}},
		{"the migrator sends what it has seen of the object", "patch knobs k",
			"kube-controller-manager/" + release.Libraries + " (" + platform + ") kubernetes/unknown/" + manager + "storage-version-migrator-controller",
			map[string]string{"@this": `{"apiVersion":"example.com/v1","kind":"Knob","metadata":{"resourceVersion":"` + knob + `"}}`},
			map[string]string{"kind": "Knob", "apiVersion": "example.com/v1", "metadata.name": "k"}},
		{"and applies to the definition", "patch customresourcedefinitions/status knobs.example.com",
			"kube-controller-manager/" + release.Libraries + " (" + platform + ") kubernetes/unknown/" + manager + "storage-version-migrator-controller",
			map[string]string{"kind": "CustomResourceDefinition", "status.conditions.#.reason": `["MigrationSucceeded"]`, "status.storedVersions": `["v1"]`, "spec": ""},
			map[string]string{"status.storedVersions": `["v1"]`, "status.conditions.#.type": `["NamesAccepted","Established","StorageMigrating"]`,
				`metadata.managedFields.#(manager=="migration-runner-controller").operation`:   "Apply",
				`metadata.managedFields.#(manager=="migration-runner-controller").subresource`: "status"}},
		{"and then the migration", "update storageversionmigrations/status m",
			"kube-controller-manager/" + release.Libraries + " (" + platform + ") kubernetes/unknown/" + manager + "storage-version-migrator-controller",
			map[string]string{"kind": "StorageVersionMigration", "status.conditions.1.message": "Migration completed"},
			map[string]string{"kind": "StorageVersionMigration", "status.conditions.1.message": "Migration completed"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			e, ok := own[tt.write]
			if !ok {
				t.Fatalf("no event of %s; there are %v", tt.write, own)
			}
			expect(t, "user agent", e.UserAgent, tt.agent)
			expect(t, "code", e.ResponseStatus.Code, int32(200))
			expect(t, "something was sent", e.RequestObject != nil, tt.sent != nil)
			if e.RequestObject != nil {
				for path, want := range tt.sent {
					expect(t, "sent "+path, gjson.GetBytes(e.RequestObject.Raw, path).String(), want)
				}
			}
			if e.ResponseObject == nil {
				t.Fatal("no answer in the event")
			}
			for path, want := range tt.answered {
				expect(t, "answered "+path, gjson.GetBytes(e.ResponseObject.Raw, path).String(), want)
			}
		})
	}
}

func TestTheWriteOfAControllerThatIsRefusedHasTheRefusalInItsEvent(t *testing.T) {
	p := &plugin{validate: func(w *restadmission.Write) error {
		if w.GetOperation() == admission.Delete && w.GetName() == "" && w.GetResource().Resource == "configmaps" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", fmt.Errorf("it stays"))
		}
		return nil
	}}
	c := start(t, withPlugin(p), withAudit(auditinternal.LevelRequestResponse))
	c.must("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}}`)
	c.must("POST", "/api/v1/namespaces/n/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	c.must("DELETE", "/api/v1/namespaces/n", "")
	e := c.ownWrites()["delete configmaps a"]
	if e.ResponseStatus == nil || e.ResponseObject == nil {
		t.Fatalf("no answer in the event: %+v", e)
	}
	expect(t, "status", []any{e.ResponseStatus.Code, string(e.ResponseStatus.Reason), e.ResponseStatus.Message},
		[]any{int32(403), "Forbidden", `configmaps "a" is forbidden: it stays`})
	expect(t, "answer", gjson.GetBytes(e.ResponseObject.Raw, "message").Str, `configmaps "a" is forbidden: it stays`)
}

func TestAPanicInTheWriteOfAControllerClosesItsEvent(t *testing.T) {
	p := &plugin{validate: func(w *restadmission.Write) error {
		if w.GetResource().Resource == "namespaces" && w.GetSubresource() == "finalize" {
			panic("oh")
		}
		return nil
	}}
	c := start(t, withPlugin(p), withAudit(auditinternal.LevelMetadata))
	c.must("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}}`)
	expect(t, "answer", c.do("DELETE", "/api/v1/namespaces/n", nil, "").code, 500)
	e, ok := c.ownWrites()["update namespaces/finalize n"]
	if !ok {
		t.Fatal("no event of the write")
	}
	expect(t, "event", []any{string(e.Stage), e.ResponseStatus.Code, e.ResponseStatus.Message}, []any{"Panic", int32(500), "APIServer panic'd: oh"})
}

// The namespace controller deletes a widget, whose version ceases to be served while
// admission decides about the delete.
func TestTheWriteOfAControllerToAVersionThatIsGoneIsNotFoundInItsEvent(t *testing.T) {
	var c *cluster
	gone := false
	p := &plugin{validate: func(w *restadmission.Write) error {
		if w.GetOperation() == admission.Delete && w.GetResource().Resource == "widgets" && !gone {
			gone = true
			c.change(widgetsDefinition, `"served":true`, `"served":false`)
		}
		return nil
	}}
	c = start(t, withPlugin(p), withAudit(auditinternal.LevelRequestResponse))
	c.install("widgets")
	c.must("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}}`)
	c.must("POST", strings.Replace(widgetsPath, "default", "n", 1), widget("a"))
	c.must("DELETE", "/api/v1/namespaces/n", "")
	var codes []int32
	for _, e := range c.server.Audit.Events() {
		if e.Verb == "delete" && e.ObjectRef.Resource == "widgets" && strings.Contains(e.User.Username, "namespace-controller") {
			codes = append(codes, e.ResponseStatus.Code)
			expect(t, "an object in the event", e.ResponseObject != nil, e.ResponseStatus.Code != 404) // it is a text
		}
	}
	expect(t, "codes", codes, []int32{404, 200}) // the controller tries again in the version that is stored
}
