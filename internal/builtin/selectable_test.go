package builtin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestSelectableFields(t *testing.T) {
	m := metav1.ObjectMeta{Namespace: "team", Name: "a"}
	event := func(source, controller string) *corev1.Event {
		return &corev1.Event{ObjectMeta: m, Reason: "Done", Type: "Normal", Source: corev1.EventSource{Component: source}, ReportingController: controller,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "team", Name: "p", UID: "u", APIVersion: "v1", ResourceVersion: "7", FieldPath: "spec"}}
	}
	events := func(source, controller string) fields.Set {
		return fields.Set{
			"metadata.name": "a", "metadata.namespace": "team", "reason": "Done", "type": "Normal", "source": source, "reportingComponent": controller,
			"involvedObject.kind": "Pod", "involvedObject.namespace": "team", "involvedObject.name": "p", "involvedObject.uid": "u",
			"involvedObject.apiVersion": "v1", "involvedObject.resourceVersion": "7", "involvedObject.fieldPath": "spec",
		}
	}
	for _, c := range []struct {
		name, resource string
		obj            runtime.Object
		want           fields.Set
	}{
		{"a ConfigMap: the metadata alone", "configmaps", &corev1.ConfigMap{ObjectMeta: m}, fields.Set{"metadata.name": "a", "metadata.namespace": "team"}},
		{"a Secret: its type", "secrets", &corev1.Secret{ObjectMeta: m, Type: "x"}, fields.Set{"metadata.name": "a", "metadata.namespace": "team", "type": "x"}},
		{"a Namespace: its phase, and its name without metadata", "namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NamespaceStatus{Phase: "Active"}},
			fields.Set{"metadata.name": "a", "name": "a", "status.phase": "Active"}},
		{"a ClusterTrustBundle: its signer", "clustertrustbundles", &certificatesv1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: "x.io/y"}},
			fields.Set{"metadata.name": "a", "spec.signerName": "x.io/y"}},
		{"a PodCertificateRequest: signer, pod and node", "podcertificaterequests", &certificatesv1.PodCertificateRequest{ObjectMeta: m, Spec: certificatesv1.PodCertificateRequestSpec{SignerName: "x.io/y", PodName: "p", NodeName: "n"}},
			fields.Set{"metadata.name": "a", "metadata.namespace": "team", "spec.signerName": "x.io/y", "spec.podName": "p", "spec.nodeName": "n"}},
		{"an Event: the source is the component of the source", "events", event("kubelet", "c"), events("kubelet", "c")},
		{"an Event without a source: the source is the reporting controller", "events", event("", "c"), events("c", "c")},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := builtIn(t, c.resource, false).Storage
			got, err := v.Codec.Fields(internal(t, v, c.obj))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			for label := range c.want {
				if c.resource == "namespaces" && label == "name" || c.resource == "podcertificaterequests" && label == "metadata.namespace" {
					continue // a real server has the field, and refuses to select by it
				}
				if _, _, err := v.Codec.ConvertFieldLabel(label, "x"); err != nil {
					t.Errorf("the label %s is refused: %v", label, err)
				}
			}
		})
	}
}
