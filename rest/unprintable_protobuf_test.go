package rest_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestProtobufThatHasNoJSON sends objects that protobuf can carry and JSON cannot. A real
// server panics on those whose fields it manages; nothing is stored, here as there.
func TestProtobufThatHasNoJSON(t *testing.T) {
	neither := intstr.IntOrString{Type: 2}
	garbage := runtime.RawExtension{Raw: []byte(`{"a`)}
	meta := metav1.ObjectMeta{Name: "a"}
	labels := map[string]string{"a": "b"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}}
	probed := *template.Spec.DeepCopy()
	probed.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: neither}}}
	for _, tt := range []struct {
		rule, path, fine string
		obj              runtime.Object
		why              string
	}{
		{"a Deployment's maxSurge", "/apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}}}}`,
			&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template, Strategy: appsv1.DeploymentStrategy{Type: "RollingUpdate", RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &neither}}}}, "impossible IntOrString.Type"},
		{"a probe's port", "/api/v1/namespaces/default/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"b"}]}}`,
			&corev1.Pod{ObjectMeta: meta, Spec: probed}, "impossible IntOrString.Type"},
		{"a Service's targetPort", "/api/v1/namespaces/default/services", `{"metadata":{"name":"a"},"spec":{"ports":[{"port":1}]}}`,
			&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1, TargetPort: neither}}}}, "impossible IntOrString.Type"},
		{"a budget's minAvailable", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", `{"metadata":{"name":"a","labels":{"a":"b"}},"spec":{}}`,
			&policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &neither}}, "impossible IntOrString.Type"},
		{"a policy's port", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", `{"metadata":{"name":"a"},"spec":{}}`,
			&networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: &neither}}}}}}, "impossible IntOrString.Type"},
		{"a ControllerRevision's data", "/apis/apps/v1/namespaces/default/controllerrevisions", `{"metadata":{"name":"a"},"revision":1,"data":{"a":"b"}}`,
			&appsv1.ControllerRevision{ObjectMeta: meta, Revision: 1, Data: garbage}, "error decoding object from json: unexpected EOF"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c := start(t)
			kinds, _, err := scheme.Scheme.ObjectKinds(tt.obj)
			if err != nil {
				t.Fatal(err)
			}
			tt.obj.GetObjectKind().SetGroupVersionKind(kinds[0])
			refused := func(method, path string) {
				t.Helper()
				var body bytes.Buffer
				if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(tt.obj, &body); err != nil {
					t.Fatal(err)
				}
				a := c.do(method, path, http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}}, body.String())
				expect(t, method+": code", a.code, 400)
				expect(t, method+": message", statusOf(t, a).Message, "the object has no JSON: "+tt.why)
			}
			refused("POST", tt.path)
			expect(t, "after a refused create", c.do("GET", tt.path+"/a", nil, "").code, 404)
			before := c.must("POST", tt.path, tt.fine)
			tt.obj.(metav1.Object).SetResourceVersion(gjson.Get(before, "metadata.resourceVersion").Str)
			refused("PUT", tt.path+"/a")
			expect(t, "after a refused update", c.do("GET", tt.path+"/a", nil, "").body, before)
		})
	}
}

// TestProtobufThatIsNoUTF8 creates objects whose JSON, which protobuf carries as bytes, is no
// UTF-8. Without a replacement their lists could not be read as YAML.
func TestProtobufThatIsNoUTF8(t *testing.T) {
	fieldsOf := func(text string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(text)}}
	}
	for _, tt := range []struct {
		rule, path string
		obj        runtime.Object
	}{
		{"managedFields", "/api/v1/namespaces/default/configmaps",
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: fieldsOf("{\"f:data\":{\"f:\x80\":{}}}")}}},
		{"a RawExtension", "/apis/apps/v1/namespaces/default/controllerrevisions",
			&appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Revision: 1, Data: runtime.RawExtension{Raw: []byte("{\"a\":\"\x80\"}")}}},
		{"a string", "/api/v1/namespaces/default/configmaps",
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"a": "\x80"}}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c := start(t)
			kinds, _, err := scheme.Scheme.ObjectKinds(tt.obj)
			if err != nil {
				t.Fatal(err)
			}
			tt.obj.GetObjectKind().SetGroupVersionKind(kinds[0])
			var body bytes.Buffer
			if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(tt.obj, &body); err != nil {
				t.Fatal(err)
			}
			a := c.do("POST", tt.path, http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}}, body.String())
			expect(t, "create", a.code, 201)
			for _, accept := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"} {
				for _, path := range []string{tt.path, tt.path + "/a"} {
					a := c.do("GET", path, http.Header{"Accept": {accept}}, "")
					expect(t, path+" as "+accept, a.code, 200)
					if accept != "application/vnd.kubernetes.protobuf" && !utf8.ValidString(a.body) || !strings.Contains(a.body, "\ufffd") && !strings.Contains(a.body, `\ufffd`) {
						t.Errorf("%s as %s: %q", path, accept, a.body)
					}
				}
			}
		})
	}
}
