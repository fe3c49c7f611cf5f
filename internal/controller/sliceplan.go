package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	discoveryv1client "k8s.io/client-go/kubernetes/typed/discovery/v1"
)

// slicePlan is what upstream's reconciler wants to write. The reconciler writes through a
// client that records each write in the plan, which is carried out later.
//
// The reconciler goes through its Pods in a random order. The plan puts everything in order, so
// that the same Pods give the same slices.
type slicePlan struct {
	create, update []*discoveryv1.EndpointSlice
	remove         []string
}

// carryOut writes what has been planned for slices that are there already, or new ones.
func (p *slicePlan) carryOut(s *step, current []*discoveryv1.EndpointSlice) error {
	p.order()
	for _, slice := range p.create {
		err := s.create(endpointSlices, slice.Namespace, slice)
		if isTerminating(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	for _, slice := range p.update {
		is := slices.IndexFunc(current, func(c *discoveryv1.EndpointSlice) bool { return c.Name == slice.Name })
		slice.ResourceVersion = current[is].ResourceVersion // a new slice may take the place of one
		if err := s.update(endpointSlices, slice, ""); err != nil {
			return err
		}
	}
	for _, name := range p.remove {
		is := slices.IndexFunc(current, func(c *discoveryv1.EndpointSlice) bool { return c.Name == name })
		if err := s.delete(endpointSlices, current[is], metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// order puts the plan in a defined order: endpoints by their Pods, new slices by their ports,
// others by their names.
func (p *slicePlan) order() {
	byPorts := map[string][]*discoveryv1.EndpointSlice{}
	for _, slice := range p.create {
		ports := fmt.Sprint(slice.AddressType, portsOf(slice))
		byPorts[ports] = append(byPorts[ports], slice)
	}
	for _, alike := range byPorts {
		deal(alike)
	}
	for _, slice := range p.update {
		slices.SortFunc(slice.Endpoints, compareEndpoints)
	}
	slices.SortStableFunc(p.create, func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Or(cmp.Compare(fmt.Sprint(a.AddressType, portsOf(a)), fmt.Sprint(b.AddressType, portsOf(b))), compareFirst(a, b))
	})
	slices.SortFunc(p.update, func(a, b *discoveryv1.EndpointSlice) int { return compareNames(a, b) })
	slices.Sort(p.remove)
}

// deal distributes the endpoints of new slices with the same ports again, in order.
func deal(alike []*discoveryv1.EndpointSlice) {
	var endpoints []discoveryv1.Endpoint
	for _, slice := range alike {
		endpoints = append(endpoints, slice.Endpoints...)
	}
	slices.SortFunc(endpoints, compareEndpoints)
	// The reconciler fills a slice before it makes another one.
	slices.SortStableFunc(alike, func(a, b *discoveryv1.EndpointSlice) int { return len(b.Endpoints) - len(a.Endpoints) })
	for _, slice := range alike {
		n := len(slice.Endpoints)
		slice.Endpoints, endpoints = endpoints[:n:n], endpoints[n:]
	}
}

func portsOf(slice *discoveryv1.EndpointSlice) []string {
	var ports []string
	for _, p := range slice.Ports {
		text := ""
		if p.Name != nil {
			text = *p.Name
		}
		if p.Port != nil {
			text += fmt.Sprintf(":%05d", *p.Port)
		}
		if p.Protocol != nil {
			text += "/" + string(*p.Protocol)
		}
		ports = append(ports, text)
	}
	slices.Sort(ports)
	return ports
}

func compareFirst(a, b *discoveryv1.EndpointSlice) int {
	if len(a.Endpoints) == 0 || len(b.Endpoints) == 0 {
		return len(b.Endpoints) - len(a.Endpoints)
	}
	return compareEndpoints(a.Endpoints[0], b.Endpoints[0])
}

func compareEndpoints(a, b discoveryv1.Endpoint) int {
	var pods [2]string
	for i, e := range []discoveryv1.Endpoint{a, b} {
		if e.TargetRef != nil {
			pods[i] = e.TargetRef.Name
		}
	}
	return cmp.Or(cmp.Compare(pods[0], pods[1]), slices.Compare(a.Addresses, b.Addresses))
}

// planning is a client that records writes in a plan. It has the methods that the reconciler
// calls; the others are nil.
type planning struct {
	kubernetes.Interface
	plan *slicePlan
}

func (p planning) DiscoveryV1() discoveryv1client.DiscoveryV1Interface { return planned{plan: p.plan} }

type planned struct {
	discoveryv1client.DiscoveryV1Interface
	plan *slicePlan
}

func (p planned) EndpointSlices(string) discoveryv1client.EndpointSliceInterface {
	return plannedSlices{plan: p.plan} // a slice knows its namespace
}

type plannedSlices struct {
	discoveryv1client.EndpointSliceInterface
	plan *slicePlan
}

func (p plannedSlices) Create(_ context.Context, slice *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	p.plan.create = append(p.plan.create, slice)
	return slice, nil
}

func (p plannedSlices) Update(_ context.Context, slice *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	p.plan.update = append(p.plan.update, slice)
	return slice, nil
}

func (p plannedSlices) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	p.plan.remove = append(p.plan.remove, name)
	return nil
}

// nodeLister reads Nodes for the reconciler.
type nodeLister struct{ s *step }

func (l nodeLister) List(selector labels.Selector) ([]*corev1.Node, error) {
	return all[*corev1.Node](l.s, nodes, "", selector)
}

func (l nodeLister) Get(name string) (*corev1.Node, error) {
	if name == "" { // of a Pod that has none yet
		return nil, apierrors.NewNotFound(nodes.resource(), name)
	}
	obj, err := l.s.get(nodes, "", name)
	if err != nil {
		return nil, err
	}
	return as[*corev1.Node](obj)
}
