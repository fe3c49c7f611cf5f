package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/topologycache"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/klog/v2"
)

var endpointSlices = kind{discoveryv1.GroupName, "endpointslices"}

const (
	slicesManager = "endpointslice-controller.k8s.io"
	sliceCapacity = 100 // endpoints, as kube-controller-manager has it by default
)

// slicesController keeps the EndpointSlices of each Service with a selector in line with its
// Pods, by upstream's reconciler. The slices of a Service that is gone are garbage.
func slicesController() *controller {
	e := &slicesOfServices{triggers: endpointsliceutil.NewTriggerTimeTracker(), topology: topologycache.NewTopologyCache()}
	return &controller{
		identity: ServiceAccount("endpointslice-controller"),
		follows: []followed{
			{kind: services, begins: true, concerns: followServices},
			{kind: pods, concerns: followPods},
			{kind: endpointSlices, concerns: followSlices},
			{kind: nodes, concerns: followNodes},
		},
		sync: e.sync,
	}
}

// followSlices adds the Services of a slice that somebody has changed.
func followSlices(s *step, c change) error {
	now, err := is[*discoveryv1.EndpointSlice](c)
	if err != nil {
		return err
	}
	before, err := was[*discoveryv1.EndpointSlice](c)
	if err != nil {
		return err
	}
	for _, slice := range []*discoveryv1.EndpointSlice{now, before} {
		if slice == nil {
			continue
		}
		if service := slice.Labels[discoveryv1.LabelServiceName]; service != "" && slice.Labels[discoveryv1.LabelManagedBy] == slicesManager {
			s.enqueue(key{namespace: slice.Namespace, name: service})
		}
	}
	return nil
}

// followNodes adds the Services with Pods on a Node that has come or gone, or whose zone or
// readiness has changed.
func followNodes(s *step, c change) error {
	now, err := is[*corev1.Node](c)
	if err != nil {
		return err
	}
	before, err := was[*corev1.Node](c)
	if err != nil {
		return err
	}
	if now != nil && before != nil && zoneOf(now) == zoneOf(before) && nodeIsReady(now) == nodeIsReady(before) {
		return nil
	}
	selecting, err := all[*corev1.Service](s, services, "", nil)
	if err != nil {
		return err
	}
	on, err := all[*corev1.Pod](s, pods, "", nil)
	if err != nil {
		return err
	}
	on = slices.DeleteFunc(on, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != c.Name })
	for _, service := range selecting {
		if !selects(service) {
			continue
		}
		selector := labels.SelectorFromSet(service.Spec.Selector)
		if slices.ContainsFunc(on, func(pod *corev1.Pod) bool {
			return pod.Namespace == service.Namespace && selector.Matches(labels.Set(pod.Labels))
		}) || wantsHints(service) {
			s.enqueue(key{namespace: service.Namespace, name: service.Name})
		}
	}
	return nil
}

// wantsHints reports whether the slices of a Service depend on the zones of all Nodes.
func wantsHints(service *corev1.Service) bool {
	return service.Annotations[corev1.AnnotationTopologyMode] != "" || service.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints] != ""
}

func zoneOf(node *corev1.Node) string { return node.Labels[corev1.LabelTopologyZone] }

func nodeIsReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

type slicesOfServices struct {
	triggers *endpointsliceutil.TriggerTimeTracker
	topology *topologycache.TopologyCache
}

func (e *slicesOfServices) sync(s *step, k key) error {
	service, err := find[*corev1.Service](s, services, k.namespace, k.name)
	if err != nil {
		return err
	}
	if service == nil {
		e.triggers.DeleteService(k.namespace, k.name)
		return nil
	}
	if !selects(service) {
		return nil
	}
	members, err := podsOf(s, service)
	if err != nil {
		return err
	}
	current, err := all[*discoveryv1.EndpointSlice](s, endpointSlices, k.namespace, labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: slicesManager,
	}))
	if err != nil {
		return err
	}
	var have []*discoveryv1.EndpointSlice
	for _, slice := range current {
		if slice.DeletionTimestamp == nil {
			have = append(have, slice.DeepCopy()) // the reconciler sorts in them
		}
	}
	trigger := e.triggers.ComputeEndpointLastChangeTriggerTime(service.Namespace, service, members)
	if wantsHints(service) {
		all, err := all[*corev1.Node](s, nodes, "", nil)
		if err != nil {
			return err
		}
		e.topology.SetNodes(klog.Background(), all)
	}
	p := &slicePlan{}
	reconciler := endpointslice.NewReconciler(planning{plan: p}, nodeLister{s}, sliceCapacity, endpointsliceutil.NewEndpointSliceTracker(),
		e.topology, &record.FakeRecorder{}, slicesManager, endpointslice.WithPreferSameTrafficDistributionEnabled(true))
	// The error is returned at the end: the reconciler leaves out Pods on Nodes that do not
	// exist, and everything else is right.
	missing := reconciler.Reconcile(klog.Background(), service, members, have, trigger)
	if err := p.carryOut(s, have); err != nil {
		return err
	}
	return missing
}
