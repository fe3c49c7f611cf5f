package kubeadm

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestStaticPods compares the Pod of the scheduler with what kubeadm writes. All four were compared with GetStaticPodSpecs and GetEtcdPodSpec of
// kubeadm 1.37.1, whose packages the module does not need otherwise.
func TestStaticPods(t *testing.T) {
	node := Node()
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.18.0.5"}}
	pods := map[string]*corev1.Pod{}
	for _, p := range StaticPods(node, "10.0.0.0/24") {
		pods[p.Name] = p
	}
	if len(pods) != 4 {
		t.Fatalf("there are %d Pods", len(pods))
	}
	config := "/etc/kubernetes/scheduler.conf"
	want := []string{"kube-scheduler", "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config, "--bind-address=127.0.0.1", "--kubeconfig=" + config, "--leader-elect=true"}
	if got := pods["kube-scheduler"].Spec.Containers[0].Command; !reflect.DeepEqual(got, want) {
		t.Errorf("the scheduler's command is %q, want %q", got, want)
	}
	for name, want := range map[string]int{"etcd": 20, "kube-apiserver": 28, "kube-controller-manager": 18, "kube-scheduler": 6} {
		if got := len(pods[name].Spec.Containers[0].Command); got != want {
			t.Errorf("%s has %d arguments, want %d", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"etcd": "etcd-certs etcd-data", "kube-apiserver": "ca-certs etc-ca-certificates k8s-certs usr-local-share-ca-certificates usr-share-ca-certificates",
		"kube-controller-manager": "ca-certs etc-ca-certificates k8s-certs kubeconfig usr-local-share-ca-certificates usr-share-ca-certificates", "kube-scheduler": "kubeconfig",
	} {
		var volumes []string
		for _, v := range pods[name].Spec.Volumes {
			volumes = append(volumes, v.Name)
		}
		if got := strings.Join(volumes, " "); got != want {
			t.Errorf("%s has the volumes %s, want %s", name, got, want)
		}
	}
}

func TestAddons(t *testing.T) {
	objects, err := Cluster{Node: "control-plane", DNS: "10.0.0.10", Services: "10.0.0.0/24"}.objects()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range objects {
		names = append(names, o.GetKind()+" "+o.GetName())
		data, _, _ := unstructured.NestedStringMap(o.Object, "data")
		switch o.GetName() {
		case "coredns":
			if text := data["Corefile"]; text != "" && (!strings.HasPrefix(text, ".:53 {\n    errors\n") || !strings.HasSuffix(text, "    loadbalance\n}\n")) {
				t.Errorf("the Corefile is %q", text)
			}
		case "kube-proxy":
			want := "sha256:a573c93e0e419fa8c07a29bc562f3a574889e0d8cda72138754e3fdc368b8eba"
			if got := o.GetAnnotations()["kubeadm.kubernetes.io/component-config.hash"]; o.GetKind() == "ConfigMap" && got != want {
				t.Errorf("the hash of kube-proxy's configuration is %s, want %s", got, want)
			}
		case "kubeadm-config":
			if text := data["ClusterConfiguration"]; !strings.Contains(text, "\ncontrolPlaneEndpoint: control-plane:6443\n") || !strings.Contains(text, "\n  serviceSubnet: 10.0.0.0/24\n") {
				t.Errorf("the configuration of kubeadm is %s", text)
			}
		}
	}
	want := []string{
		"ServiceAccount coredns", "ClusterRole system:coredns", "ClusterRoleBinding system:coredns", "ConfigMap coredns", "Service kube-dns", "Deployment coredns",
		"ServiceAccount kube-proxy", "ClusterRoleBinding kubeadm:node-proxier", "Role kube-proxy", "RoleBinding kube-proxy", "ConfigMap kube-proxy", "DaemonSet kube-proxy",
		"ConfigMap kubeadm-config",
	}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("the objects are %q, want %q", names, want)
	}
}
