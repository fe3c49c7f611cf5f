package explore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fakecluster/fakecluster/explore/internal/dump"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// realCluster is in an order in which it cannot be created.
const realCluster = `
- apiVersion: v1
  kind: Pod
  metadata: {name: web-1, namespace: shop, uid: p, resourceVersion: "9", creationTimestamp: "2026-01-01T00:00:00Z", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: r}]}
  spec: {nodeName: n1, containers: [{name: web, image: web}]}
  status: {phase: Running}
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata: {name: web, namespace: shop, uid: r, resourceVersion: "8", generation: 7, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: gone, uid: x}]}
  spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}
  status: {replicas: 1, observedGeneration: 7}
- apiVersion: v1
  kind: Service
  metadata: {name: web, namespace: shop, uid: s}
  spec: {clusterIP: 172.20.0.9, clusterIPs: [172.20.0.9], ports: [{port: 80}]}
- apiVersion: v1
  kind: PersistentVolume
  metadata: {name: disk, uid: v}
  spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /disk}, claimRef: {namespace: shop, name: data, uid: c}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: data, namespace: shop, uid: c}
  spec: {volumeName: disk, storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  status: {phase: Bound}
- apiVersion: v1
  kind: Secret
  metadata: {name: password, namespace: shop, uid: w}
  data: {password: removed!, user: YWRtaW4=}
- apiVersion: v1
  kind: Secret
  metadata: {name: token, namespace: shop, uid: t}
  type: kubernetes.io/service-account-token
- apiVersion: v1
  kind: Namespace
  metadata: {name: shop, uid: n}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: Wrong, namespace: shop, uid: m}
- apiVersion: v1
  kind: Namespace
  metadata: {name: default, uid: d}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: going, namespace: shop, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [example.com/a]}
- apiVersion: v1
  kind: Event
  metadata: {name: started, namespace: shop}
- apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata: {name: leader, namespace: shop}
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  metadata: {name: other}
- apiVersion: apiregistration.k8s.io/v1
  kind: APIService
  metadata: {name: v1beta1.metrics.k8s.io}
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: shops.example.com}
  spec:
    group: example.com
    names: {kind: Shop, plural: shops}
    scope: Namespaced
    conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://conversion.example.com"}}}
    versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
- apiVersion: example.com/v1
  kind: Shop
  metadata: {name: a, namespace: shop, uid: q}
`

func TestADumpIsLoaded(t *testing.T) {
	t.Parallel()
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithControllers(append(fakecluster.DefaultControllers(), fakecluster.GarbageCollector)...))
	dumped := map[string]any{}
	if err := yaml.Unmarshal([]byte("items:"+realCluster), &dumped); err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, o := range dumped["items"].([]any) {
		objects = append(objects, &unstructured.Unstructured{Object: o.(map[string]any)})
	}
	left := dump.Load(c, objects)
	want := []string{
		"APIService v1beta1.metrics.k8s.io: nothing serves it",
		"ConfigMap shop/Wrong: ConfigMap \"Wrong\" is invalid: metadata.name: Invalid value: \"Wrong\": a lowercase RFC 1123 subdomain",
		"ConfigMap shop/going: it is being deleted",
		"Event shop/started: it is about what has happened",
		"Lease shop/leader: a process of the real cluster renews it",
		"Secret shop/token: its token is of the real cluster",
		"ValidatingWebhookConfiguration other: nothing serves its webhooks; give those of the operator to Subject.Options",
	}
	slices.Sort(left)
	for i := range left {
		left[i], _, _ = strings.Cut(left[i], " must consist of")
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	get := func(version, resource, namespace, name string) *unstructured.Unstructured {
		t.Helper()
		gv, _ := schema.ParseGroupVersion(version)
		u, err := c.Dynamic().Resource(gv.WithResource(resource)).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	get("example.com/v1", "shops", "shop", "a") // its definition does not convert by a webhook
	replicaSet, pod := get("apps/v1", "replicasets", "shop", "web"), get("v1", "pods", "shop", "web-1")
	if owners := pod.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != replicaSet.GetUID() || owners[0].UID == "r" {
		t.Errorf("the owners of the pod are %v, want the ReplicaSet", owners)
	}
	if owners := replicaSet.GetOwnerReferences(); len(owners) > 0 {
		t.Errorf("an owner that is not in the dump is %v, want none", owners)
	}
	status := func(u *unstructured.Unstructured, field string) any {
		return u.Object["status"].(map[string]any)[field]
	}
	if got := status(pod, "phase"); got != "Running" {
		t.Errorf("the phase of the pod is %v", got)
	}
	if got := status(replicaSet, "observedGeneration"); got != replicaSet.GetGeneration() || got == int64(7) {
		t.Errorf("the observed generation is %v, and the generation %d", got, replicaSet.GetGeneration())
	}
	claim := get("v1", "persistentvolumeclaims", "shop", "data")
	volume := get("v1", "persistentvolumes", "", "disk")
	if uid, _, _ := unstructured.NestedString(volume.Object, "spec", "claimRef", "uid"); uid != string(claim.GetUID()) {
		t.Errorf("the volume is bound to %q, want %q", uid, claim.GetUID())
	}
	secret, err := c.Clientset().CoreV1().Secrets("shop").Get(t.Context(), "password", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]byte{"password": []byte("removed!"), "user": []byte("admin")}, secret.Data); diff != "" {
		t.Errorf("the secret (-want +got):\n%s", diff)
	}
	service, err := c.Clientset().CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || service.Spec.ClusterIP == "172.20.0.9" || service.Spec.ClusterIP == corev1.ClusterIPNone {
		t.Errorf("the address of the service is %q, error: %v", service.Spec.ClusterIP, err)
	}
}
