package aggregation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// checkTimeout is the time limit of a check.
const checkTimeout = 5 * time.Second

// LivesInPods reports whether the server of an APIService runs in pods, so that it can start and stop answering without
// a write.
func (r *Registry) LivesInPods(a *apiregistrationv1.APIService) bool {
	to := a.Spec.Service
	return to != nil && r.network.Connected() && !r.network.Reaches(to.Namespace, to.Name, *to.Port)
}

// InPods returns the names of the APIServices whose servers run in pods.
func (r *Registry) InPods() (names []string) {
	for _, s := range r.Servers() {
		if r.LivesInPods(s.APIService) {
			names = append(names, s.APIService.Name)
		}
	}
	return names
}

// CheckAvailable returns the condition Available of an APIService: whether its service exists and answers. For a service
// without a handler it checks the Service and its EndpointSlices.
func (r *Registry) CheckAvailable(ctx context.Context, a *apiregistrationv1.APIService) apiregistrationv1.APIServiceCondition {
	condition := apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, LastTransitionTime: metav1.NewTime(r.objects.Now()),
	}
	to := a.Spec.Service
	if in := r.standIn.Load(); in != nil && in.standsInFor(a) {
		condition.Status, condition.Reason, condition.Message = apiregistrationv1.ConditionTrue, "Passed", "all checks passed"
		return condition
	}
	if !r.network.Reaches(to.Namespace, to.Name, *to.Port) {
		if r.checkService(to, &condition) {
			return condition
		}
	}
	if err := r.check(ctx, a); err != nil {
		condition.Reason, condition.Message = "FailedDiscoveryCheck", err.Error()
		return condition
	}
	condition.Status, condition.Reason, condition.Message = apiregistrationv1.ConditionTrue, "Passed", "all checks passed"
	return condition
}

// checkService checks the objects of a service. If something is wrong, it sets the reason and message of the condition,
// and returns true.
func (r *Registry) checkService(to *apiregistrationv1.ServiceReference, condition *apiregistrationv1.APIServiceCondition) bool {
	service, err := r.service(to)
	switch {
	case apierrors.IsNotFound(err):
		condition.Reason, condition.Message = "ServiceNotFound", fmt.Sprintf("service/%s in %q is not present", to.Name, to.Namespace)
		return true
	case err != nil:
		condition.Status = apiregistrationv1.ConditionUnknown
		condition.Reason, condition.Message = "ServiceAccessError", fmt.Sprintf("service/%s in %q cannot be checked due to: %v", to.Name, to.Namespace, err)
		return true
	case service.Spec.Type != corev1.ServiceTypeClusterIP:
		return false
	}
	port := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == *to.Port })
	if port < 0 {
		condition.Reason, condition.Message = "ServicePortError", fmt.Sprintf("service/%s in %q is not listening on port %d", to.Name, to.Namespace, *to.Port)
		return true
	}
	endpoints, err := r.endpoints(to)
	name := service.Spec.Ports[port].Name
	switch {
	case err != nil:
		condition.Status = apiregistrationv1.ConditionUnknown
		condition.Reason, condition.Message = "EndpointsAccessError", fmt.Sprintf("service/%s in %q cannot be checked due to: %v", to.Name, to.Namespace, err)
	case len(endpoints) == 0:
		condition.Reason, condition.Message = "EndpointsNotFound", fmt.Sprintf("cannot find endpointslices for service/%s in %q", to.Name, to.Namespace)
	case !slices.ContainsFunc(endpoints, func(slice runtime.Object) bool { return isReady(slice.(*discoveryv1.EndpointSlice), name) }):
		condition.Reason = "MissingEndpoints"
		condition.Message = fmt.Sprintf("endpointslices for service/%s in %q have no addresses with port name %q", to.Name, to.Namespace, name)
	default:
		return false
	}
	return true
}

// isReady reports whether a slice has a ready endpoint, and a port with the name.
func isReady(slice *discoveryv1.EndpointSlice, port string) bool {
	return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }) &&
		slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return p.Name != nil && *p.Name == port && p.Port != nil })
}

func (r *Registry) service(to *apiregistrationv1.ServiceReference) (*corev1.Service, error) {
	services := r.objects.Registry().Resource("", "services")
	obj, err := r.objects.Get(clientVersion(services), to.Namespace, to.Name)
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Service), nil
}

func (r *Registry) endpoints(to *apiregistrationv1.ServiceReference) ([]runtime.Object, error) {
	endpointSlices := r.objects.Registry().Resource(discoveryv1.GroupName, "endpointslices")
	if endpointSlices == nil {
		return nil, nil // v1 is turned off
	}
	selector := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: to.Name})
	return r.objects.List(clientVersion(endpointSlices), to.Namespace, selector)
}

// clientVersion returns the version v1 of a resource, whose Go type this package uses.
func clientVersion(r *resource.Resource) *resource.Version { return r.Version("v1") }

// check requests the resources of a server's version.
func (r *Registry) check(ctx context.Context, a *apiregistrationv1.APIService) error {
	t, err := r.transportOf(a)
	if err != nil {
		return err
	}
	host, err := r.hostOf(a.Spec.Service)
	if err != nil {
		return err
	}
	to := &url.URL{Scheme: "https", Host: host, Path: rootOf(a)}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return err
	}
	transport.SetAuthProxyHeaders(req, discoverer.Name, "", discoverer.Groups, nil)
	resp, err := t.RoundTrip(req)
	if err != nil {
		err = &url.Error{Op: "Get", URL: to.String(), Err: err}
	} else {
		_ = resp.Body.Close()
		if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
			err = fmt.Errorf("bad status from %v: %d", to, resp.StatusCode)
		}
	}
	if err != nil {
		t.CloseIdleConnections()
		return fmt.Errorf("failing or missing response from %v: %w", to, err)
	}
	return nil
}

// transportOf returns the transport to the service of an APIService; that of the registry if it has this state of the
// APIService.
func (r *Registry) transportOf(a *apiregistrationv1.APIService) (*http.Transport, error) {
	if server := r.current.Load().servers[a.Name]; server != nil && server.APIService.ResourceVersion == a.ResourceVersion {
		return server.transport()
	}
	return newTransport(a, r.network)
}

// rootOf returns the path of the version that an APIService registers.
func rootOf(a *apiregistrationv1.APIService) string {
	if a.Name == coreName {
		return "/api/" + a.Spec.Version
	}
	return "/apis/" + a.Spec.Group + "/" + a.Spec.Version
}

// hostOf returns the host and port of a service. Unless pods run in the cluster, it fails for a service without a
// handler, except for the type ExternalName, because nothing listens at the cluster IP.
func (r *Registry) hostOf(to *apiregistrationv1.ServiceReference) (string, error) {
	if r.network.Reaches(to.Namespace, to.Name, *to.Port) || r.network.Connected() {
		return r.network.Address(to.Namespace, to.Name, *to.Port)
	}
	service, err := r.service(to)
	switch {
	case err != nil:
		return "", err
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return net.JoinHostPort(service.Spec.ExternalName, strconv.Itoa(int(*to.Port))), nil
	case service.Spec.ClusterIP == corev1.ClusterIPNone:
		return "", errors.New(`cannot route to service with ClusterIP "None"`)
	}
	return "", fmt.Errorf("no route to service %q in namespace %q: in fakecluster nothing listens at the IP of a service: give it a handler with WithService, or run pods", to.Name, to.Namespace)
}
