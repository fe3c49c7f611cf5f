package pod

import (
	"context"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"
)

// TestANodeRejectsPods proves that a node rejects these pods as a kubelet does: for the same first reason and in the same words.
func TestANodeRejectsPods(t *testing.T) {
	node := func(taints ...corev1.Taint) *corev1.Node {
		allocatable := corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("3"), "example.com/gpu": resource.MustParse("1")}
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"disk": "hdd", corev1.LabelHostname: "n", corev1.LabelOSStable: "linux"}},
			Spec:       corev1.NodeSpec{Taints: taints},
			Status:     corev1.NodeStatus{Allocatable: allocatable, Capacity: allocatable, NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux"}},
		}
	}
	taint := func(effect corev1.TaintEffect) *corev1.Node {
		return node(corev1.Taint{Key: "maintenance", Value: "yes", Effect: effect})
	}
	requests := func(name corev1.ResourceName, quantity string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{name: resource.MustParse(quantity)}
		}
	}
	hostPort := func(ports ...corev1.ContainerPort) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Containers[0].Ports = ports }
	}
	affinity := func(key string, operator corev1.NodeSelectorOperator, values ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}},
			}}}
		}
	}
	groups := func(policy corev1.SupplementalGroupsPolicy) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroupsPolicy: &policy}
		}
	}
	withGroups := func(has bool) *corev1.Node {
		n := node()
		n.Status.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: &has}
		return n
	}
	tolerates := func(t corev1.Toleration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{t} }
	}
	const (
		noGroups   = "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node"
		noAffinity = "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
		noPort     = "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
		noTaint    = "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
	)
	// The node has a pod with the host ports 80 of all addresses and 53/UDP of 10.0.0.1, which requests a CPU.
	there := built("there", requests("cpu", "1"), hostPort(corev1.ContainerPort{HostPort: 80, ContainerPort: 80, Protocol: corev1.ProtocolTCP},
		corev1.ContainerPort{HostPort: 53, ContainerPort: 53, HostIP: "10.0.0.1", Protocol: corev1.ProtocolUDP}))
	for _, test := range []struct {
		rule string
		node *corev1.Node
		pod  *corev1.Pod
		want string // reason and message; empty: it is admitted
	}{
		{"a pod that asks for nothing", node(), built("p"), ""},
		{"more than the others have left", node(), built("p", requests("cpu", "1500m")), "OutOfcpu: Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000"},
		{"what the others have left", node(), built("p", requests("cpu", "1")), ""},
		{"more memory than there is", node(), built("p", requests("memory", "2Gi")), "OutOfmemory: Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824"},
		{"more of an extended resource than there is", node(), built("p", requests("example.com/gpu", "2")), "OutOfexample.com/gpu: Node didn't have enough resource: example.com/gpu, requested: 2, used: 0, capacity: 1"},
		{"an extended resource that the node does not know", node(), built("p", requests("example.com/license", "2")), ""},
		{"a node selector that matches", node(), built("p", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "hdd"} }), ""},
		{"a node selector that does not match", node(), built("p", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }), noAffinity},
		{"an affinity that matches", node(), built("p", affinity("disk", corev1.NodeSelectorOpNotIn, "ssd")), ""},
		{"an affinity that does not match", node(), built("p", affinity("disk", corev1.NodeSelectorOpIn, "ssd", "nvme")), noAffinity},
		{"an affinity that is invalid", node(), built("p", affinity("disk", corev1.NodeSelectorOpGt, "many")), noAffinity},
		{"the name of another node", node(), built("p", func(p *corev1.Pod) { p.Spec.NodeName = "m" }), "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name"},
		{"the name of the node", node(), built("p", func(p *corev1.Pod) { p.Spec.NodeName = "n" }), ""},
		{"a host port that is taken at all addresses", node(), built("p", hostPort(corev1.ContainerPort{HostPort: 80, ContainerPort: 8080, HostIP: "10.0.0.2"})), noPort},
		{"a host port that is taken at another address", node(), built("p", hostPort(corev1.ContainerPort{HostPort: 53, ContainerPort: 53, HostIP: "10.0.0.2", Protocol: corev1.ProtocolUDP})), ""},
		{"a host port at all addresses that is taken at one", node(), built("p", hostPort(corev1.ContainerPort{HostPort: 53, ContainerPort: 53, Protocol: corev1.ProtocolUDP})), noPort},
		{"a host port that is taken of another protocol", node(), built("p", hostPort(corev1.ContainerPort{HostPort: 80, ContainerPort: 80, Protocol: corev1.ProtocolUDP})), ""},
		{"a port of a container only", node(), built("p", hostPort(corev1.ContainerPort{ContainerPort: 80})), ""},
		{"a taint NoExecute", taint(corev1.TaintEffectNoExecute), built("p"), noTaint},
		{"a taint NoExecute that the pod tolerates", taint(corev1.TaintEffectNoExecute), built("p", tolerates(corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists})), ""},
		{"a taint NoExecute that the pod tolerates for a time", taint(corev1.TaintEffectNoExecute),
			built("p", tolerates(corev1.Toleration{Key: "maintenance", Value: "yes", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To(int64(0))})), ""},
		{"a toleration of another effect", taint(corev1.TaintEffectNoExecute), built("p", tolerates(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})), noTaint},
		{"a taint NoSchedule is for the scheduler", taint(corev1.TaintEffectNoSchedule), built("p"), ""},
		{"the label of another operating system", node(), built("p", func(p *corev1.Pod) { p.Labels = map[string]string{corev1.LabelOSStable: "windows"} }),
			"PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"},
		{"another operating system", node(), built("p", func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }),
			"PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS"},
		{"strict groups on a node that has them", withGroups(true), built("p", groups(corev1.SupplementalGroupsPolicyStrict)), ""},
		{"strict groups on a node that does not", withGroups(false), built("p", groups(corev1.SupplementalGroupsPolicyStrict)), noGroups},
		{"strict groups on a node that does not say", node(), built("p", groups(corev1.SupplementalGroupsPolicyStrict)), noGroups},
		{"merged groups on a node that does not say", node(), built("p", groups(corev1.SupplementalGroupsPolicyMerge)), ""},
		{"groups come before resources", node(), built("p", groups(corev1.SupplementalGroupsPolicyStrict), requests("cpu", "2")), noGroups},
		{"resources come before labels, names, ports and taints", taint(corev1.TaintEffectNoExecute), built("p", requests("cpu", "2"), affinity("disk", corev1.NodeSelectorOpExists), hostPort(corev1.ContainerPort{HostPort: 80})),
			"OutOfcpu: Node didn't have enough resource: cpu, requested: 2000, used: 1000, capacity: 2000"},
		{"ports come before taints", taint(corev1.TaintEffectNoExecute), built("p", hostPort(corev1.ContainerPort{HostPort: 80, Protocol: corev1.ProtocolTCP})), noPort},
	} {
		t.Run(test.rule, func(t *testing.T) {
			n := &Node{pods: map[types.UID]*Pod{"there": {uid: "there", api: there, admitted: true}, "completed": {uid: "completed", api: built("completed", requests("cpu", "2")), admitted: true,
				termination: termination{completed: true}}}}
			got := ""
			if why := rejection(t.Context(), n, test.pod, test.node); why != nil {
				got = why.reason + ": " + why.message
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if runtime.GOOS != "linux" {
				return // a kubelet of another system compares with that
			}
			if real := upstreamRejection(t, test.pod, test.node, there); real != test.want {
				t.Errorf("a kubelet says  %s\nwant %s", real, test.want)
			}
		})
	}
}

// TestSysctlsAreCheckedFirst proves that a forbidden sysctl is the reason of a rejection that has others, too, as under a kubelet.
func TestSysctlsAreCheckedFirst(t *testing.T) {
	pod := built("p", func(p *corev1.Pod) {
		p.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
		p.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}}
	})
	why := rejection(t.Context(), &Node{}, pod, &corev1.Node{})
	if want := (reason{"SysctlForbidden", `forbidden sysctl: "kernel.msgmax" not allowlisted`}); why == nil || *why != want {
		t.Errorf("got %v, want %v", why, want)
	}
}

// built returns a pod with a container, changed by changes.
func built(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	for _, change := range changes {
		change(p)
	}
	return p
}

// upstreamRejection returns the reason and the message of the kubelet's own code.
func upstreamRejection(t *testing.T, pod *corev1.Pod, node *corev1.Node, others ...*corev1.Pod) string {
	object := func(context.Context, bool) (*corev1.Node, error) { return node, nil }
	handler := lifecycle.NewPredicateAdmitHandler(object, noPreemption{}, func(*framework.NodeInfo, *lifecycle.PodAdmitAttributes) error { return nil })
	result := handler.Admit(t.Context(), &lifecycle.PodAdmitAttributes{Pod: pod, OtherPods: others})
	if result.Admit {
		return ""
	}
	return result.Reason + ": " + result.Message
}

// noPreemption ends no pods to admit another one.
type noPreemption struct{}

// HandleAdmissionFailure implements lifecycle.AdmissionFailureHandler.
func (noPreemption) HandleAdmissionFailure(_ context.Context, _ *corev1.Pod, reasons []lifecycle.PredicateFailureReason, _ lifecycle.Operation) ([]lifecycle.PredicateFailureReason, error) {
	return reasons, nil
}
