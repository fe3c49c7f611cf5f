package kubeadm

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/release"
)

const (
	clusterName = "fakecluster"
	podRange    = "10.244.0.0/16"
)

//go:embed addons.yaml
var addons string

// Cluster has the properties of a cluster that kubeadm's objects contain.
type Cluster struct {
	Node     string // of the control plane, the first one
	DNS      string // the address of the DNS
	Services string // the range of the addresses of Services
}

// Install creates CoreDNS and kube-proxy, once in the life of a cluster: it does nothing if the ConfigMap kubeadm-config
// exists. It keeps existing objects.
func Install(ctx context.Context, client dynamic.Interface, mapper meta.RESTMapper, cluster Cluster) error {
	_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(metav1.NamespaceSystem).Get(ctx, "kubeadm-config", metav1.GetOptions{})
	if err == nil || !apierrors.IsNotFound(err) {
		return err
	}
	objects, err := cluster.objects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return err
		}
		if _, err := client.Resource(mapping.Resource).Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %s %s: %w", kind.Kind, object.GetName(), err)
		}
	}
	return nil
}

// objects returns the objects of addons.yaml.
func (c Cluster) objects() ([]*unstructured.Unstructured, error) {
	filled := strings.NewReplacer( // not text/template, because of which a linker keeps all exported methods
		"{{.DNS}}", c.DNS, "{{.Services}}", c.Services, "{{.Pods}}", podRange, "{{.Server}}", c.Node+":"+serverPort, "{{.Cluster}}", clusterName,
		"{{.Version}}", release.Info().GitVersion, "{{.CoreDNS}}", "registry.k8s.io/coredns/coredns:"+coreDNSVersion, "{{.Proxy}}", image("kube-proxy"),
	).Replace(addons)
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(filled, "---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, err
		}
		if object.GetKind() == "ConfigMap" && object.GetName() == "kube-proxy" {
			sign(object)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// sign adds the annotation by which kubeadm detects whether the configuration of a component was changed.
func sign(object *unstructured.Unstructured) {
	data, _, _ := unstructured.NestedStringMap(object.Object, "data") // it is text in addons.yaml
	sum := sha256.New()
	for _, key := range []string{"config.conf", "kubeconfig.conf"} {
		sum.Write([]byte(data[key]))
	}
	object.SetAnnotations(map[string]string{"kubeadm.kubernetes.io/component-config.hash": fmt.Sprintf("sha256:%x", sum.Sum(nil))})
}
