package controller

import (
	"time"

	"github.com/tidwall/gjson"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/fakecluster/fakecluster/internal/metadata"
)

var (
	services       = kind{"", "services"}
	endpointSlices = kind{discoveryv1.GroupName, "endpointslices"}
)

// recheckedAfter is the time after which the server of an APIService is checked again, as on a real server.
const recheckedAfter = 30 * time.Second

// apiServiceAvailability sets the condition Available of APIServices: whether their servers answer. A server in pods
// starts and stops answering without a write, and its network follows its endpoints after their write. So it is checked
// again at the times of a real server, after a failure with a growing delay. Other servers are checked by the next
// request for them.
func apiServiceAvailability() *controller {
	delays := workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, recheckedAfter)
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
		// The origin has alarms for the servers in pods.
		resume: func(s *step, _ int64) error {
			for _, name := range s.server.InPods() {
				s.enqueueAt(key{name: name}, s.now().Add(recheckedAfter))
			}
			return nil
		},
		catchUp: func(s *step, _ int64) error {
			v, err := s.version(apiServices)
			if err != nil {
				return err
			}
			records, err := s.records(v.Resource, "")
			for _, r := range records {
				if gjson.Get(r.Value, "spec.service").IsObject() || !gjson.Get(r.Value, "status.conditions.0").Exists() {
					s.enqueue(key{name: v.Resource.NameOf(r.Key)})
				}
			}
			return err
		},
		sync: func(s *step, k key) error {
			a, err := copyOf[*apiregistrationv1.APIService](s, apiServices, "", k.name)
			if err != nil {
				delays.Forget(k.name)
				return err
			}
			before := a.Status.DeepCopy()
			if a.Spec.Service == nil {
				helper.SetAPIServiceCondition(a, apiregistrationv1.APIServiceCondition{
					Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.now()),
					Reason: "Local", Message: "Local APIServices are always available",
				})
			} else {
				condition := s.server.Available(s.ctx, a)
				helper.SetAPIServiceCondition(a, condition)
				delay := recheckedAfter
				if condition.Reason == "FailedDiscoveryCheck" {
					delay = delays.When(k.name)
				} else {
					delays.Forget(k.name)
				}
				if s.server.LivesInPods(a) {
					s.syncAgainBy(s.now().Add(delay))
				}
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
