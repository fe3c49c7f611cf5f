package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/workloads/internal/seeded"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

const zones = 2

// Nodes returns n nodes with the names n1, n2, and so on, in two zones. Start gives each 8 CPUs, 32 GiB of
// memory and 110 pods.
func Nodes(n int) []*corev1.Node {
	nodes := make([]*corev1.Node, 0, max(n, 0))
	for i := range n {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i+1)}})
	}
	return nodes
}

// complete returns copies of the nodes with everything that a kubelet registers.
func complete(nodes []*corev1.Node) ([]*corev1.Node, error) {
	var errs []error
	names := map[string]bool{}
	var completed []*corev1.Node
	for i, node := range nodes {
		if node == nil {
			return nil, errors.New("NodeObjects: a node is nil")
		}
		n := node.DeepCopy()
		if err := possible(n); err != nil {
			errs = append(errs, err)
		}
		if names[n.Name] {
			errs = append(errs, fmt.Errorf("node %s is given twice", n.Name))
		}
		names[n.Name] = true
		setDefaults(n, i)
		completed = append(completed, n)
	}
	return completed, errors.Join(errs...)
}

// possible returns an error if there cannot be such a node.
func possible(n *corev1.Node) error {
	if problems := validation.IsDNS1123Subdomain(n.Name); len(problems) > 0 {
		return fmt.Errorf("node name %q: %s", n.Name, strings.Join(problems, "; "))
	}
	for _, list := range []struct {
		field     string
		resources corev1.ResourceList
	}{{"capacity", n.Status.Capacity}, {"allocatable", n.Status.Allocatable}} {
		for name, quantity := range list.resources {
			if quantity.Sign() < 0 {
				return fmt.Errorf("node %s: %s of %s is negative: %s", n.Name, list.field, name, quantity.String())
			}
			if capacity, ok := n.Status.Capacity[name]; list.field == "allocatable" && ok && quantity.Cmp(capacity) > 0 {
				return fmt.Errorf("node %s: allocatable %[3]s is %[2]s, more than its capacity of %[4]s", n.Name, quantity.String(), name, capacity.String())
			}
		}
	}
	if len(n.Status.Conditions) > 0 {
		return fmt.Errorf("node %s: conditions are written by the node; leave status.conditions empty, and call SetPressure of the node for pressure", n.Name)
	}
	return nil
}

// setDefaults sets empty fields.
func setDefaults(n *corev1.Node, i int) {
	label := func(key, value string) {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		if _, ok := n.Labels[key]; !ok {
			n.Labels[key] = value
		}
	}
	label(corev1.LabelArchStable, "amd64")
	label(corev1.LabelOSStable, "linux")
	label("beta.kubernetes.io/arch", n.Labels[corev1.LabelArchStable])
	label("beta.kubernetes.io/os", n.Labels[corev1.LabelOSStable])
	label(corev1.LabelHostname, n.Name)
	label(corev1.LabelTopologyRegion, "region-1")
	label(corev1.LabelTopologyZone, n.Labels[corev1.LabelTopologyRegion]+string(rune('a'+i%zones)))
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	n.Annotations["volumes.kubernetes.io/controller-managed-attach-detach"] = "true"
	if n.Spec.ProviderID == "" {
		n.Spec.ProviderID = "fakecluster://" + n.Name
	}

	s := &n.Status
	if s.Capacity == nil {
		s.Capacity = corev1.ResourceList{}
	}
	for name, quantity := range map[corev1.ResourceName]string{
		corev1.ResourceCPU: "8", corev1.ResourceMemory: "32Gi", corev1.ResourcePods: "110", corev1.ResourceEphemeralStorage: "100Gi",
	} {
		if _, ok := s.Capacity[name]; !ok {
			s.Capacity[name] = resource.MustParse(quantity)
		}
	}
	if s.Allocatable == nil {
		s.Allocatable = corev1.ResourceList{}
	}
	for name, quantity := range s.Capacity {
		if _, ok := s.Allocatable[name]; !ok {
			s.Allocatable[name] = quantity
		}
	}
	if len(s.Addresses) == 0 {
		// Addresses of nodes begin where those of kind do.
		ip := fmt.Sprintf("172.18.%d.%d", (i+2)/250, (i+2)%250)
		s.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}, {Type: corev1.NodeHostName, Address: n.Name}}
	}
	id := seeded.Digest("node", n.Name)
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&s.NodeInfo.MachineID, id[:32])
	set(&s.NodeInfo.SystemUUID, fmt.Sprintf("%s-%s-%s-%s-%s", id[:8], id[8:12], id[12:16], id[16:20], id[20:32]))
	set(&s.NodeInfo.BootID, fmt.Sprintf("%s-%s-%s-%s-%s", id[32:40], id[40:44], id[44:48], id[48:52], id[52:64]))
	set(&s.NodeInfo.KernelVersion, shell.Kernel)
	set(&s.NodeInfo.OSImage, "fakecluster")
	set(&s.NodeInfo.ContainerRuntimeVersion, "containerd://2.1.4")
	set(&s.NodeInfo.KubeletVersion, release.Info().GitVersion)
	set(&s.NodeInfo.OperatingSystem, n.Labels[corev1.LabelOSStable])
	set(&s.NodeInfo.Architecture, n.Labels[corev1.LabelArchStable])
	s.DaemonEndpoints.KubeletEndpoint.Port = KubeletPort
	setFeatures(s)
}

// setFeatures sets what containerd says that it can do, with the handlers that a node of kind has.
func setFeatures(s *corev1.NodeStatus) {
	if s.Features == nil {
		s.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: ptr.To(true)}
	}
	for _, name := range []string{"runc", "", "test-handler"} {
		if !slices.ContainsFunc(s.RuntimeHandlers, func(h corev1.NodeRuntimeHandler) bool { return h.Name == name }) {
			s.RuntimeHandlers = append(s.RuntimeHandlers, corev1.NodeRuntimeHandler{
				Name: name, Features: &corev1.NodeRuntimeHandlerFeatures{RecursiveReadOnlyMounts: ptr.To(true), UserNamespaces: ptr.To(true)},
			})
		}
	}
}

func internalIP(n *corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}
