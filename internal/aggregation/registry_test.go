package aggregation

import (
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func TestTheServerOfAPath(t *testing.T) {
	r := &Registry{}
	servers := map[string]*Server{}
	for _, name := range []string{"v1.wardle.example.com", "v1beta1.metrics.k8s.io"} {
		servers[name] = &Server{APIService: &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	}
	r.current.Store(&snapshot{servers: servers})
	for path, want := range map[string]string{
		"/apis/wardle.example.com/v1":                  "v1.wardle.example.com",
		"/apis/wardle.example.com/v1/":                 "v1.wardle.example.com",
		"/apis/wardle.example.com/v1/namespaces/a/b/c": "v1.wardle.example.com",
		"/apis/metrics.k8s.io/v1beta1/nodes":           "v1beta1.metrics.k8s.io",
		"/apis/wardle.example.com/v2":                  "",
		"/apis/wardle.example.com":                     "", // discovery of the group is merged
		"/apis/":                                       "",
		"/apis":                                        "",
		"/api/v1/pods":                                 "",
		"/version":                                     "",
	} {
		got := ""
		if s := r.Serves(path); s != nil {
			got = s.APIService.Name
		}
		if got != want {
			t.Errorf("%s is served by %q, want %q", path, got, want)
		}
	}
}

func TestPointsToService(t *testing.T) {
	for text, want := range map[string]bool{
		`{"spec":{"service":{"namespace":"a","name":"b"}}}`:                                       true,
		`{"spec":{"group":"apps","version":"v1"}}`:                                                false,
		`{"metadata":{"annotations":{"a":"{\"service\":{}}"}},"spec":{"service":null}}`:           false,
		`{"metadata":{"labels":{"service":"x"}},"spec":{"group":"apps"},"status":{"service":{}}}`: false,
		"": false,
	} {
		if got := PointsToService(text); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

func TestReadyEndpointSlices(t *testing.T) {
	yes, no, name, port := true, false, "https", int32(443)
	ports := []discoveryv1.EndpointPort{{Name: &name, Port: &port}}
	for _, c := range []struct {
		rule  string
		slice discoveryv1.EndpointSlice
		want  bool
	}{
		{"an endpoint that is ready", discoveryv1.EndpointSlice{Ports: ports, Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: &yes}}}}, true},
		{"one that does not say it is", discoveryv1.EndpointSlice{Ports: ports, Endpoints: []discoveryv1.Endpoint{{}}}, true},
		{"one that is not", discoveryv1.EndpointSlice{Ports: ports, Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: &no}}}}, false},
		{"none", discoveryv1.EndpointSlice{Ports: ports}, false},
		{"another port", discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{}}}, false},
	} {
		if got := isReady(&c.slice, name); got != c.want {
			t.Errorf("%s: %t", c.rule, got)
		}
	}
}

func TestTheAPIServicesOfAService(t *testing.T) {
	r := &Registry{}
	servers := map[string]*Server{}
	for name, to := range map[string]apiregistrationv1.ServiceReference{
		"v1.b.example.com": {Namespace: "default", Name: "web"}, "v1.a.example.com": {Namespace: "default", Name: "web"},
		"v1.c.example.com": {Namespace: "other", Name: "web"}, "v1.d.example.com": {Namespace: "default", Name: "db"},
	} {
		servers[name] = &Server{APIService: &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: apiregistrationv1.APIServiceSpec{Service: &to}}}
	}
	r.current.Store(&snapshot{servers: servers})
	if got, want := r.APIServicesOf("default", "web"), []string{"v1.a.example.com", "v1.b.example.com"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Of the aggregated document of another server only the version of the APIService counts.
func TestTheResourcesOfAVersion(t *testing.T) {
	const document = `{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [
		{"metadata": {"name": "other.example.com"}, "versions": [{"version": "v1", "resources": [{"resource": "others"}]}]},
		{"metadata": {"name": "wardle.example.com"}, "versions": [
			{"version": "v1alpha1", "resources": [{"resource": "fischers"}]},
			{"version": "v1", "resources": [{"resource": "flunders", "subresources": [{"subresource": "status"}]}]}]}]}`
	s := &Server{APIService: &apiregistrationv1.APIService{Spec: apiregistrationv1.APIServiceSpec{Group: "wardle.example.com", Version: "v1"}}}
	got, err := s.fromAggregated([]byte(document))
	if err != nil || len(got) != 1 || got[0].Resource != "flunders" {
		t.Fatalf("%v, %v", got, err)
	}
	if got[0].ResponseKind == nil || got[0].Subresources[0].ResponseKind == nil {
		t.Error("ResponseKind is nil, which old clients do not expect")
	}
	s.APIService.Spec.Version = "v2"
	if got, err := s.fromAggregated([]byte(document)); got != nil || err != nil {
		t.Errorf("a version that the document lacks: %v, %v", got, err)
	}
}
