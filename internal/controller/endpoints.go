//lint:file-ignore SA1019 Endpoints are deprecated, and their controller still keeps them

package controller

import (
	"maps"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/endpointslice"
	endpointsliceutil "k8s.io/endpointslice/util"
	utilnet "k8s.io/utils/net"

	"github.com/fakecluster/fakecluster/internal/builtin"
)

var endpointsKind = kind{"", "endpoints"}

const (
	endpointsManager     = "endpoint-controller"
	endpointsManagedBy   = "endpoints.kubernetes.io/managed-by"
	endpointsCapacity    = 1000
	endpointsIsTruncated = "truncated"
)

// endpoints keeps the Endpoints of each Service with a selector in line with its Pods, and
// deletes the Endpoints of a Service that is gone.
func endpoints() *controller {
	e := &endpointsController{triggers: endpointsliceutil.NewTriggerTimeTracker()}
	return &controller{
		identity: ServiceAccount("endpoint-controller"),
		follows: []followed{
			{kind: services, begins: true, concerns: followServices},
			{kind: pods, concerns: followPods},
			{kind: endpointsKind, concerns: deleted},
		},
		sync: e.sync,
	}
}

type endpointsController struct {
	triggers *endpointsliceutil.TriggerTimeTracker
}

func (e *endpointsController) sync(s *step, k key) error {
	service, err := find[*corev1.Service](s, services, k.namespace, k.name)
	if err != nil {
		return err
	}
	current, err := find[*corev1.Endpoints](s, endpointsKind, k.namespace, k.name)
	if err != nil {
		return err
	}
	if service == nil {
		e.triggers.DeleteService(k.namespace, k.name)
		if current == nil {
			return nil
		}
		return s.delete(endpointsKind, current, metav1.DeleteOptions{})
	}
	if !selects(service) {
		return nil
	}
	members, err := podsOf(s, service)
	if err != nil {
		return err
	}
	trigger := e.triggers.ComputeEndpointLastChangeTriggerTime(service.Namespace, service, members)
	subsets := builtin.RepackSubsets(subsetsOf(service, members))
	if current != nil && endpointsAreRight(s, current, service, subsets) {
		return nil
	}
	wanted := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: service.Name, Namespace: service.Namespace}}
	if current != nil {
		wanted = current.DeepCopy()
	}
	describeEndpoints(wanted, service, subsets, trigger)
	if current != nil {
		return s.update(endpointsKind, wanted, "")
	}
	err = s.create(endpointsKind, service.Namespace, wanted)
	if isTerminating(err) {
		return nil
	}
	return err
}

// subsetsOf has a subset for each Pod and port of a Service.
func subsetsOf(service *corev1.Service, members []*corev1.Pod) []corev1.EndpointSubset {
	subsets := []corev1.EndpointSubset{}
	for _, pod := range members {
		if !endpointsliceutil.ShouldPodBeInEndpoints(pod, service.Spec.PublishNotReadyAddresses) {
			continue
		}
		address, ok := addressOf(service, pod)
		if !ok {
			continue
		}
		ready := service.Spec.PublishNotReadyAddresses || endpointsliceutil.IsPodReady(pod)
		if len(service.Spec.Ports) == 0 && service.Spec.ClusterIP == corev1.ClusterIPNone {
			subsets = append(subsets, subset(address, ready))
		}
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			number, err := endpointslice.FindPort(pod, port)
			if err != nil {
				continue // the Pod has no port of that name
			}
			subsets = append(subsets, subset(address, ready, corev1.EndpointPort{
				Name: port.Name, Port: int32(number), Protocol: port.Protocol, AppProtocol: port.AppProtocol,
			}))
		}
	}
	return subsets
}

func subset(address corev1.EndpointAddress, ready bool, ports ...corev1.EndpointPort) corev1.EndpointSubset {
	if ports == nil {
		ports = []corev1.EndpointPort{}
	}
	if ready {
		return corev1.EndpointSubset{Addresses: []corev1.EndpointAddress{address}, Ports: ports}
	}
	return corev1.EndpointSubset{NotReadyAddresses: []corev1.EndpointAddress{address}, Ports: ports}
}

// addressOf returns the address of a Pod in the IP family of the Service.
func addressOf(service *corev1.Service, pod *corev1.Pod) (corev1.EndpointAddress, bool) {
	isIPv6 := utilnet.IsIPv6String(pod.Status.PodIP)
	switch {
	case len(service.Spec.IPFamilies) > 0:
		isIPv6 = service.Spec.IPFamilies[0] == corev1.IPv6Protocol
	case service.Spec.ClusterIP != "" && service.Spec.ClusterIP != corev1.ClusterIPNone:
		isIPv6 = utilnet.IsIPv6String(service.Spec.ClusterIP)
	}
	for _, has := range pod.Status.PodIPs {
		ip := utilnet.ParseIPSloppy(has.IP)
		if utilnet.IsIPv6(ip) != isIPv6 {
			continue
		}
		address := corev1.EndpointAddress{
			IP: ip.String(), NodeName: &pod.Spec.NodeName,
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		}
		if endpointsliceutil.ShouldSetHostname(pod, service) {
			address.Hostname = pod.Spec.Hostname
		}
		return address, true
	}
	return corev1.EndpointAddress{}, false
}

// sameSubsets compares subsets without the resourceVersions of Pods.
var sameSubsets = conversion.EqualitiesOrDie(func(a, b corev1.ObjectReference) bool {
	a.ResourceVersion, b.ResourceVersion = "", ""
	return a == b
})

// endpointsAreRight reports whether Endpoints say what the controller would write.
func endpointsAreRight(s *step, current *corev1.Endpoints, service *corev1.Service, subsets []corev1.EndpointSubset) bool {
	if !sameSubsets.DeepEqual(current.Subsets, subsets) && !sameSubsets.DeepEqual(builtin.RepackSubsets(current.DeepCopy().Subsets), subsets) {
		return false
	}
	if current.Labels[endpointsManagedBy] != endpointsManager {
		return false
	}
	theirs := maps.Clone(current.Labels)
	delete(theirs, endpointsManagedBy)
	delete(theirs, corev1.IsHeadlessService)
	if !maps.Equal(theirs, service.Labels) && len(theirs)+len(service.Labels) > 0 {
		return false
	}
	_, truncated := current.Annotations[corev1.EndpointsOverCapacity]
	return !truncated && addressesIn(current.Subsets) <= endpointsCapacity
}

// describeEndpoints sets what the controller knows in Endpoints.
func describeEndpoints(e *corev1.Endpoints, service *corev1.Service, subsets []corev1.EndpointSubset, trigger time.Time) {
	e.Subsets = subsets
	e.Labels = maps.Clone(service.Labels)
	if e.Labels == nil {
		e.Labels = map[string]string{}
	}
	delete(e.Labels, corev1.IsHeadlessService)
	if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
		e.Labels[corev1.IsHeadlessService] = ""
	}
	e.Labels[endpointsManagedBy] = endpointsManager
	if e.Annotations == nil {
		e.Annotations = map[string]string{}
	}
	delete(e.Annotations, corev1.EndpointsLastChangeTriggerTime)
	if !trigger.IsZero() {
		e.Annotations[corev1.EndpointsLastChangeTriggerTime] = trigger.UTC().Format(time.RFC3339Nano)
	}
	delete(e.Annotations, corev1.EndpointsOverCapacity)
	if truncate(e.Subsets) {
		e.Annotations[corev1.EndpointsOverCapacity] = endpointsIsTruncated
	}
}

func addressesIn(subsets []corev1.EndpointSubset) int {
	n := 0
	for _, s := range subsets {
		n += len(s.Addresses) + len(s.NotReadyAddresses)
	}
	return n
}

// truncate keeps as many addresses as Endpoints may have: ready ones first, and from each subset
// in proportion. It reports whether it has removed any.
func truncate(subsets []corev1.EndpointSubset) bool {
	ready := 0
	for _, s := range subsets {
		ready += len(s.Addresses)
	}
	total := addressesIn(subsets)
	if total <= endpointsCapacity {
		return false
	}
	room, of := endpointsCapacity-ready, total-ready
	readyGo := ready > endpointsCapacity
	if readyGo {
		room, of = endpointsCapacity, ready
	}
	left := room
	for i := range subsets {
		list := &subsets[i].NotReadyAddresses
		if readyGo {
			list = &subsets[i].Addresses
			subsets[i].NotReadyAddresses = []corev1.EndpointAddress{}
		}
		share := min(int(math.Ceil(float64(len(*list))/float64(of)*float64(room))), left, len(*list))
		*list = (*list)[:share]
		left -= share
	}
	return true
}
