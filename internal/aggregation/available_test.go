package aggregation

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// world is a server with at most one Service and one EndpointSlice, and the network in which another server listens.
type world struct {
	service   *corev1.Service
	slice     *discoveryv1.EndpointSlice
	reaches   bool   // a handler answers for the Service
	connected bool   // Pods run in the cluster
	address   string // of the other server
}

// registry has the kinds that are read.
var registry = sync.OnceValue(func() *resource.Registry {
	return resource.NewRegistry(1, builtin.Resources(builtin.Options{}, nil), nil)
})

func (w *world) Registry() *resource.Registry { return registry() }
func (w *world) Now() time.Time               { return time.Unix(0, 0) }

func (w *world) Get(_ *resource.Version, _, name string) (runtime.Object, error) {
	if w.service == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("services"), name)
	}
	return w.service, nil
}

func (w *world) List(_ *resource.Version, _ string, selector labels.Selector) (found []runtime.Object, err error) {
	if w.slice != nil && selector.Matches(labels.Set(w.slice.Labels)) {
		found = append(found, w.slice)
	}
	return found, nil
}

func (w *world) Reaches(string, string, int32) bool            { return w.reaches }
func (w *world) Connected() bool                               { return w.connected }
func (w *world) ClientCertificate() *tls.Certificate           { return nil }
func (w *world) Address(string, string, int32) (string, error) { return w.address, nil }
func (w *world) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, w.address)
}

func service(port int32) *corev1.Service {
	return &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Ports: []corev1.ServicePort{{Name: "https", Port: port}}}}
}

func slice(service string, ready bool) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		Ports:      []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(8443))}},
		Endpoints:  []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
}

// otherServer answers requests for the version with a code, and returns the user that the last request has named, with a token if it has one.
func otherServer(t *testing.T, code *int) (address string, authority []byte, lastUser *string) {
	t.Helper()
	lastUser = new("")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		*lastUser = req.Header.Get("X-Remote-User") + req.Header.Get("Authorization")
		w.WriteHeader(*code)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), lastUser
}

func apiService() *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1.wardle.example.com"}, Spec: apiregistrationv1.APIServiceSpec{
		Group: "wardle.example.com", Version: "v1", InsecureSkipTLSVerify: true,
		Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "wardle", Port: new(int32(443))},
	}}
}

func TestTheConditionOfAnAPIService(t *testing.T) {
	for _, test := range []struct {
		rule   string
		world  world
		code   int // of the other server
		status apiregistrationv1.ConditionStatus
		want   string // reason and message; ADDRESS is that of the other server
	}{
		{"there is no Service", world{connected: true}, 200, "False", `ServiceNotFound: service/wardle in "default" is not present`},
		{"the Service has another port", world{connected: true, service: service(80)}, 200, "False", `ServicePortError: service/wardle in "default" is not listening on port 443`},
		{"it has no endpoints", world{connected: true, service: service(443), slice: slice("other", true)}, 200, "False", `EndpointsNotFound: cannot find endpointslices for service/wardle in "default"`},
		{"none of them is ready", world{connected: true, service: service(443), slice: slice("wardle", false)}, 200, "False",
			`MissingEndpoints: endpointslices for service/wardle in "default" have no addresses with port name "https"`},
		{"the server answers", world{connected: true, service: service(443), slice: slice("wardle", true)}, 200, "True", "Passed: all checks passed"},
		{"the server answers with an error", world{connected: true, service: service(443), slice: slice("wardle", true)}, 503, "False",
			"FailedDiscoveryCheck: failing or missing response from https://ADDRESS/apis/wardle.example.com/v1: bad status from https://ADDRESS/apis/wardle.example.com/v1: 503"},
		{"a handler needs no Service", world{reaches: true}, 200, "True", "Passed: all checks passed"},
		{"nothing listens at the IP of a Service without Pods", world{service: service(443), slice: slice("wardle", true)}, 200, "False",
			`FailedDiscoveryCheck: no route to service "wardle" in namespace "default": in fakecluster nothing listens at the IP of a service: give it a handler with WithService, or run pods`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			var lastUser *string
			test.world.address, _, lastUser = otherServer(t, &test.code)
			r := New(nil, &test.world, &test.world)
			got := r.CheckAvailable(t.Context(), apiService())
			text := got.Reason + ": " + got.Message
			if diff := cmp.Diff(strings.ReplaceAll(test.want, "ADDRESS", test.world.address), text); got.Status != test.status || diff != "" {
				t.Errorf("status %s, want %s (-want +got):\n%s", got.Status, test.status, diff)
			}
			if got.Reason == "Passed" && *lastUser != "system:kube-aggregator" {
				t.Errorf("the user of the check is %q", *lastUser)
			}
		})
	}
}

// The server is believed only with a certificate of the authority in the APIService, for the name of the Service.
func TestTheCertificateOfAnotherServerIsChecked(t *testing.T) {
	code := http.StatusOK
	address, authority, _ := otherServer(t, &code)
	w := &world{reaches: true, address: address}
	a := apiService()
	a.Spec.InsecureSkipTLSVerify, a.Spec.CABundle = false, authority
	got := New(nil, w, w).CheckAvailable(t.Context(), a)
	want := strings.ReplaceAll(`failing or missing response from https://ADDRESS/apis/wardle.example.com/v1: Get "https://ADDRESS/apis/wardle.example.com/v1": `+
		`tls: failed to verify certificate: x509: certificate is valid for example.com, *.example.com, not wardle.default.svc`, "ADDRESS", address)
	if diff := cmp.Diff(want, got.Message); diff != "" {
		t.Error(diff)
	}
}

// A request goes to the server with the name of the user in place of the token, if the server answered when it was checked last.
func TestARequestIsForwarded(t *testing.T) {
	code := http.StatusTeapot
	w := &world{reaches: true}
	var lastUser *string
	w.address, _, lastUser = otherServer(t, &code)
	a := apiService()
	rechecks := 0
	r := New(nil, w, w)
	p := NewProxy(r, func(context.Context, string) { rechecks++ })
	server := &Server{registry: r, APIService: a, transport: sync.OnceValues(func() (*http.Transport, error) { return newTransport(a, w) })}
	t.Cleanup(server.closeIdle)
	r.current.Store(&snapshot{servers: map[string]*Server{a.Name: server}})
	send := func(ctx context.Context) (int, string) {
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/apis/wardle.example.com/v1/flunders", nil)
		req.Header.Set("Authorization", "Bearer secret")
		answer := httptest.NewRecorder()
		p.Forward(answer, req, server)
		return answer.Code, answer.Body.String()
	}
	jane := apirequest.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"})
	if code, text := send(jane); code != http.StatusServiceUnavailable || text != "service unavailable\n" || rechecks != 1 || *lastUser != "" {
		t.Errorf("a server that has not answered: %d %q, %d checks, user %q", code, text, rechecks, *lastUser)
	}
	a.Status.Conditions = []apiregistrationv1.APIServiceCondition{{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue}}
	if code, text := send(t.Context()); code != http.StatusInternalServerError || text != "missing user\n" {
		t.Errorf("without a user: %d %q", code, text)
	}
	if code, _ := send(jane); code != http.StatusTeapot || *lastUser != "jane" || rechecks != 1 {
		t.Errorf("the answer is %d, %d checks, user %q", code, rechecks, *lastUser)
	}
}
