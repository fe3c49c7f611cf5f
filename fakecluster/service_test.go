package fakecluster_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// converter converts by the apiVersion alone, and counts.
type converter struct {
	refuses atomic.Bool

	mu      sync.Mutex
	objects []int // of each call
}

func (c *converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.refuses.Load() {
		http.Error(w, "not today", http.StatusServiceUnavailable)
		return
	}
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, o := range review.Request.Objects {
		var u unstructured.Unstructured
		if err := u.UnmarshalJSON(o.Raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		u.SetAPIVersion(review.Request.DesiredAPIVersion)
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: &u})
	}
	c.mu.Lock()
	c.objects = append(c.objects, len(review.Request.Objects))
	c.mu.Unlock()
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}

func (c *converter) calls() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := fmt.Sprint(c.objects)
	c.objects = nil
	return calls
}

// converted starts a cluster with CronTabs in two versions, and a webhook between them.
func converted(t *testing.T, way ...fakecluster.Option) (*fakecluster.Cluster, *converter) {
	t.Helper()
	webhook := &converter{}
	c := fakecluster.Start(t, append(way, fakecluster.WithService("default", "convert", 443, webhook))...)
	served := func(name string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: storage,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}}
	}
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "crontabs.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "crontabs", Kind: "CronTab"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{served("v1beta1", true), served("v1", false)},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ConversionReviewVersions: []string{"v1"},
					ClientConfig: &apiextensionsv1.WebhookClientConfig{
						Service: &apiextensionsv1.ServiceReference{Namespace: "default", Name: "convert"}, CABundle: c.CABundle(),
					},
				}},
		},
	}
	if _, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return c, webhook
}

func cronTabsIn(c *fakecluster.Cluster, version string) dynamic.ResourceInterface {
	return c.Dynamic().Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "crontabs"}).Namespace("default")
}

// A list is converted in one call of the webhook, however long it is. A list in the storage version
// is not converted.
func TestAListIsConvertedInOneCall(t *testing.T) {
	c, webhook := converted(t, fakecluster.InProcess())
	const n = 1000
	for i := range n {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": fmt.Sprintf("c%04d", i)},
		}}
		if _, err := cronTabsIn(c, "v1beta1").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ version, calls string }{{"v1", "[1000]"}, {"v1beta1", "[]"}} {
		list, err := cronTabsIn(c, test.version).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := webhook.calls(); got != test.calls {
			t.Errorf("list in %s: calls with %s objects, want %s", test.version, got, test.calls)
		}
		if len(list.Items) != n {
			t.Fatalf("list in %s: %d objects, want %d", test.version, len(list.Items), n)
		}
		for i, item := range list.Items {
			if want := fmt.Sprintf("c%04d", i); item.GetName() != want || item.GetAPIVersion() != "example.com/"+test.version {
				t.Fatalf("list in %s: item %d is %s %s", test.version, i, item.GetAPIVersion(), item.GetName())
			}
		}
	}
}

// A fork reaches the services at its own address, also after the cluster that it was forked from
// has been closed.
func TestServicesOfAFork(t *testing.T) { eachWay(t, testServicesOfAFork) }

func testServicesOfAFork(t *testing.T, way ...fakecluster.Option) {
	c, webhook := converted(t, way...)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": "a"},
	}}
	if _, err := cronTabsIn(c, "v1beta1").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	fork := c.Fork(t)
	a, b := c.ServiceURL("default", "convert", 443), fork.ServiceURL("default", "convert", 443)
	if inProcess := "https://convert.default.svc:443"; a == "" || b == "" || a == b && a != inProcess {
		t.Errorf("the service is at %q, and for the fork at %q", a, b)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := cronTabsIn(fork, "v1").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if calls := webhook.calls(); got.GetAPIVersion() != "example.com/v1" || calls != "[1]" {
		t.Errorf("%s after calls with %s objects, want example.com/v1 after [1]", got.GetAPIVersion(), calls)
	}
}

// The certificate of a service is for the name in the cluster and for where it listens.
func TestTheCertificateOfAService(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.WithService("ns", "s", 8443, http.NotFoundHandler()))
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(c.CABundle()) {
		t.Fatal("the bundle is not PEM")
	}
	for _, name := range []string{"s.ns.svc", ""} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name}}
		response, err := (&http.Client{Transport: transport}).Get(c.ServiceURL("ns", "s", 8443))
		if err != nil {
			t.Errorf("server name %q: %v", name, err)
			continue
		}
		response.Body.Close()
		transport.CloseIdleConnections()
	}
	if url := c.ServiceURL("ns", "s", 443); url != "" {
		t.Errorf("a service that is not there listens at %q", url)
	}
}

func TestUnreachableServicesAreRefused(t *testing.T) {
	h := http.NotFoundHandler()
	for want, option := range map[string]fakecluster.Option{
		`WithService: a service needs a namespace, a name and a port from 1 to 65535, not namespace "", name "a", port 443`:          fakecluster.WithService("", "a", 443, h),
		`WithService: a service needs a namespace, a name and a port from 1 to 65535, not namespace "default", name "", port 443`:    fakecluster.WithService("default", "", 443, h),
		`WithService: a service needs a namespace, a name and a port from 1 to 65535, not namespace "default", name "a", port 0`:     fakecluster.WithService("default", "a", 0, h),
		`WithService: a service needs a namespace, a name and a port from 1 to 65535, not namespace "default", name "a", port 65536`: fakecluster.WithService("default", "a", 65536, h),
		`WithService: the handler for a.default.svc:443 is nil`:                                                                      fakecluster.WithService("default", "a", 443, nil),
	} {
		equal(t, "refusal", refused(t, option), want)
	}
}
