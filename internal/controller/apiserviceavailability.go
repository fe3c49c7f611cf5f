package controller

import (
	"github.com/tidwall/gjson"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/fakecluster/fakecluster/internal/metadata"
)

var (
	services       = kind{"", "services"}
	endpointSlices = kind{discoveryv1.GroupName, "endpointslices"}
)

// apiServiceAvailability brings the condition Available of APIServices up to date: whether the server
// that an APIService points to answers.
func apiServiceAvailability() *controller {
	return &controller{
		identity: APIServer,
		follows: []followed{
			{kind: apiServices, concerns: changed},
			{kind: services, concerns: func(s *step, c change) error {
				enqueueAPIServicesOf(s, c.Namespace, c.Name)
				return nil
			}},
			{kind: endpointSlices, concerns: func(s *step, c change) error {
				for _, text := range []string{c.Record.Value, c.Previous.Value} {
					if service := metadata.Get(text, "labels."+gjson.Escape(discoveryv1.LabelServiceName)).Str; service != "" {
						enqueueAPIServicesOf(s, c.Namespace, service)
					}
				}
				return nil
			}},
		},
		sync: func(s *step, k key) error {
			a, err := copyOf[*apiregistrationv1.APIService](s, apiServices, "", k.name)
			if err != nil {
				return err
			}
			before := a.Status.DeepCopy()
			if a.Spec.Service == nil {
				helper.SetAPIServiceCondition(a, apiregistrationv1.APIServiceCondition{
					Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.now()),
					Reason: "Local", Message: "Local APIServices are always available",
				})
			} else {
				helper.SetAPIServiceCondition(a, s.server.Available(s.ctx, a))
			}
			if equality.Semantic.DeepEqual(*before, a.Status) {
				return nil
			}
			return s.update(apiServices, a, "status")
		},
	}
}

// enqueueAPIServicesOf enqueues the APIServices that point to a service.
func enqueueAPIServicesOf(s *step, namespace, service string) {
	for _, name := range s.server.APIServicesOf(namespace, service) {
		s.enqueue(key{name: name})
	}
}
