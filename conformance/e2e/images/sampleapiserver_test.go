package images_test

import (
	"os"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/conformance/e2e/images"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestTheSampleAPIServer: it keeps its objects in the etcd of its Pod, and clients reach it through the API server.
func TestTheSampleAPIServer(t *testing.T) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("wardle.default.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithManifests("testdata/wardle.yaml"), fakecluster.WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "wardle"}, Data: map[string][]byte{"tls.crt": certificate, "tls.key": key},
	}))
	workloads.Run(t, c, append(images.Options(), workloads.Nodes(1), workloads.OnlyKnownImages())...)
	manifest, err := os.ReadFile("testdata/wardle-pod.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(manifest, pod); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Clientset().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1alpha1.wardle.example.com"},
	}}
	c.WaitFor(t, service, fakecluster.HasCondition("Available"))
	group := schema.GroupVersion{Group: "wardle.example.com", Version: "v1alpha1"}
	flunders := dynamic.NewForConfigOrDie(c.RESTConfig()).Resource(group.WithResource("flunders")).Namespace("default")
	create := func(name string, spec map[string]any) error {
		_, err := flunders.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group.String(), "kind": "Flunder", "metadata": map[string]any{"name": name}, "spec": spec,
		}}, metav1.CreateOptions{})
		return err
	}
	if err := create("one", map[string]any{"reference": "another"}); err != nil {
		t.Fatal(err)
	}
	const invalid = `Flunder.wardle.example.com "two" is invalid: spec.fischerReference: Invalid value: "": cannot be empty if referenceType is Fischer`
	if err := create("two", map[string]any{"referenceType": "Fischer"}); err == nil || err.Error() != invalid {
		t.Errorf("the error is %v, want %s", err, invalid)
	}
	list, err := flunders.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, flunder := range list.Items {
		got = append(got, flunder.GetName(), flunder.Object["spec"])
	}
	if want := []any{"one", map[string]any{"reference": "another", "referenceType": "Flunder"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the flunders are %v, want %v", got, want)
	}
}
