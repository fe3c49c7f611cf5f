package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1listers "k8s.io/client-go/listers/core/v1"
	endpointsliceutil "k8s.io/endpointslice/util"
)

var (
	services = kind{"", "services"}
	pods     = kind{"", "pods"}
	nodes    = kind{"", "nodes"}
)

// followServices adds a Service that has changed.
func followServices(s *step, c change) error {
	s.enqueue(c.key())
	return nil
}

// followPods adds the Services that a changed Pod belongs or belonged to, if the change makes a
// difference to them.
func followPods(s *step, c change) error {
	now, err := is[*corev1.Pod](c)
	if err != nil {
		return err
	}
	before, err := was[*corev1.Pod](c)
	if err != nil {
		return err
	}
	var changed *endpointsliceutil.PodProjectionKey
	switch { // a nil pod in an interface would be taken for a pod
	case now == nil:
		changed = endpointsliceutil.GetPodUpdateProjectionKey(before, nil)
	case before == nil:
		changed = endpointsliceutil.GetPodUpdateProjectionKey(nil, now)
	default:
		changed = endpointsliceutil.GetPodUpdateProjectionKey(before, now)
	}
	concerned, err := endpointsliceutil.GetServicesToUpdate(serviceLister{s}, changed)
	for service := range concerned {
		s.enqueue(parseKey(service))
	}
	return err
}

// selects reports whether endpoints are made for the Service from its selector.
func selects(service *corev1.Service) bool {
	return service.Spec.Type != corev1.ServiceTypeExternalName && service.Spec.Selector != nil
}

// podsOf returns the Pods of a Service.
func podsOf(s *step, service *corev1.Service) ([]*corev1.Pod, error) {
	return all[*corev1.Pod](s, pods, service.Namespace, labels.SelectorFromSet(service.Spec.Selector))
}

// serviceLister lists the Services of a namespace.
type serviceLister struct{ s *step }

func (l serviceLister) List(selector labels.Selector) ([]*corev1.Service, error) {
	return all[*corev1.Service](l.s, services, "", selector)
}

func (l serviceLister) Services(namespace string) corev1listers.ServiceNamespaceLister {
	return servicesIn{l.s, namespace}
}

type servicesIn struct {
	s         *step
	namespace string
}

func (l servicesIn) List(selector labels.Selector) ([]*corev1.Service, error) {
	return all[*corev1.Service](l.s, services, l.namespace, selector)
}

func (l servicesIn) Get(name string) (*corev1.Service, error) {
	obj, err := l.s.get(services, l.namespace, name)
	if err != nil {
		return nil, err
	}
	return as[*corev1.Service](obj)
}
