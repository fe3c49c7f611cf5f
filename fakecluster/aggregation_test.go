package fakecluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
)

var (
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	nodeMetrics = schema.GroupVersionResource{Group: "metrics.example.com", Version: "v1", Resource: "nodemetrics"}
)

// metricsServer serves metrics.example.com/v1, with one resource.
type metricsServer struct {
	down       atomic.Bool
	lastHeader atomic.Pointer[http.Header] // of the last request for an object
}

func (m *metricsServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if m.down.Load() {
		http.Error(w, "not yet", http.StatusInternalServerError)
		return
	}
	answer := func(format string, args ...any) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, format, args...)
	}
	const object = `{"kind":"NodeMetrics","apiVersion":"metrics.example.com/v1","metadata":{"name":%q},"usage":{"cpu":"1"}}`
	switch path := req.URL.Path; {
	case path == "/apis/metrics.example.com/v1":
		answer(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"metrics.example.com/v1","resources":[
			{"name":"nodemetrics","singularName":"nodemetric","namespaced":false,"kind":"NodeMetrics","verbs":["get","watch"]}]}`)
	case path == "/apis/metrics.example.com/v1/nodemetrics" && req.URL.Query().Get("watch") != "":
		w.Header().Set("Content-Type", "application/json")
		for i := range 2 {
			fmt.Fprintf(w, `{"type":"ADDED","object":`+object+"}\n", fmt.Sprint("node-", i))
			w.(http.Flusher).Flush()
		}
		<-req.Context().Done()
	case strings.HasPrefix(path, "/apis/metrics.example.com/v1/nodemetrics/"):
		m.lastHeader.Store(&req.Header)
		answer(object, strings.TrimPrefix(path, "/apis/metrics.example.com/v1/nodemetrics/"))
	case path == "/openapi/v2":
		answer(`{"swagger":"2.0","info":{"title":"metrics","version":"v1"},"paths":{
			"/apis/metrics.example.com/v1/nodemetrics":{"get":{"operationId":"listNodeMetrics","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/com.example.NodeMetrics"}}}}},
			"/version":{"get":{"operationId":"theirVersion","responses":{"200":{"description":"OK"}}}}},
			"definitions":{"com.example.NodeMetrics":{"type":"object","description":"What a node uses."}}}`)
	default:
		http.NotFound(w, req)
	}
}

func pointing(group, version string, to *apiregistrationv1.ServiceReference) *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version + "." + group},
		Spec:       apiregistrationv1.APIServiceSpec{Group: group, Version: version, Service: to, GroupPriorityMinimum: 100, VersionPriority: 10},
	}
}

func withMetrics(m http.Handler, opts ...fakecluster.Option) []fakecluster.Option {
	return append(opts,
		fakecluster.WithService("kube-system", "metrics", 443, m),
		fakecluster.WithObjects(pointing("metrics.example.com", "v1", &apiregistrationv1.ServiceReference{Namespace: "kube-system", Name: "metrics"})),
	)
}

// available is the condition of an APIService.
func available(t *testing.T, c *fakecluster.Cluster, name string) string {
	t.Helper()
	u, err := c.Dynamic().Resource(apiServices).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, one := range conditions {
		if one := one.(map[string]any); one["type"] == "Available" {
			return fmt.Sprintf("%s %s: %s", one["status"], one["reason"], one["message"])
		}
	}
	return ""
}

// send sends a request as a client does, and returns the code and the body.
func send(t *testing.T, c *fakecluster.Cluster, path string, header ...string) (int, string) {
	t.Helper()
	client, err := rest.HTTPClientFor(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestAnAggregatedServerServesAVersion(t *testing.T) {
	for name, opts := range map[string][]fakecluster.Option{"http": nil, "in process": {fakecluster.InProcess()}} {
		t.Run(name, func(t *testing.T) {
			m := &metricsServer{}
			c := fakecluster.Start(t, withMetrics(m, opts...)...)
			if got := available(t, c, "v1.metrics.example.com"); got != "True Passed: all checks passed" {
				t.Fatal(got)
			}
			u, err := c.Dynamic().Resource(nodeMetrics).Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]any{"cpu": "1"}, u.Object["usage"]); diff != "" {
				t.Error(diff)
			}
			var users []string
			for name, values := range *m.lastHeader.Load() {
				if strings.HasPrefix(name, "X-Remote-") || name == "Authorization" {
					users = append(users, fmt.Sprint(name, values))
				}
			}
			slices.Sort(users)
			if diff := cmp.Diff([]string{"X-Remote-Group[system:masters system:authenticated]", "X-Remote-User[kubernetes-admin]"}, users); diff != "" {
				t.Errorf("who asks (-want +got)\n%s", diff)
			}

			ctx, stop := context.WithCancel(t.Context())
			w, err := c.Dynamic().Resource(nodeMetrics).Watch(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				e := <-w.ResultChan()
				if got := e.Object.(*unstructured.Unstructured).GetName(); got != fmt.Sprint("node-", i) {
					t.Errorf("event %d is of %s", i, got)
				}
			}
			w.Stop()
			stop()

			if code, body := send(t, c, "/apis/metrics.example.com/v1/unknown"); code != 404 || body != "404 page not found\n" {
				t.Errorf("what the server does not serve: %d %q", code, body)
			}
		})
	}
}

func TestDiscoveryAndOpenAPIMergeAllServers(t *testing.T) {
	c := fakecluster.Start(t, withMetrics(&metricsServer{})...)
	_, plain := send(t, c, "/apis")
	_, group := send(t, c, "/apis/metrics.example.com")
	_, aggregated := send(t, c, "/apis", "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	_, index := send(t, c, "/")
	_, v2 := send(t, c, "/openapi/v2")
	_, v3 := send(t, c, "/openapi/v3")
	_, document := send(t, c, "/openapi/v3/apis/metrics.example.com/v1")
	_, core := send(t, c, "/openapi/v3/api/v1")
	for _, test := range []struct{ text, path, want string }{
		{plain, "groups.0.name", `"apiregistration.k8s.io"`},
		{plain, "groups.@reverse.0.name", `"metrics.example.com"`},
		{group, "preferredVersion.groupVersion", `"metrics.example.com/v1"`},
		{aggregated, "items.@reverse.0.metadata.name", `"metrics.example.com"`},
		{aggregated, "items.@reverse.0.versions.0.freshness", `"Current"`},
		{aggregated, "items.@reverse.0.versions.0.resources.0.resource", `"nodemetrics"`},
		{aggregated, "items.0.metadata.name", `"apiregistration.k8s.io"`},
		{index, `paths.#(=="/apis/metrics.example.com/v1")`, `"/apis/metrics.example.com/v1"`},
		{v2, `definitions.com\.example\.NodeMetrics.description`, `"What a node uses."`},
		{v2, `paths./apis/metrics\.example\.com/v1/nodemetrics.get.operationId`, `"listNodeMetrics"`},
		{v2, `paths./version/.get.operationId`, `"getCodeVersion"`},
		{v2, `definitions.io\.k8s\.api\.apps\.v1\.Deployment.type`, `"object"`},
		{document, `components.schemas.com\.example\.NodeMetrics.description`, `"What a node uses."`},
		{core, `components.schemas.io\.k8s\.api\.core\.v1\.Pod.type`, `"object"`},
	} {
		if got := gjson.Get(test.text, test.path).Raw; got != test.want {
			t.Errorf("%s is %s, want %s", test.path, got, test.want)
		}
	}
	if url := gjson.Get(v3, `paths.apis/metrics\.example\.com/v1.serverRelativeURL`).Str; !strings.HasPrefix(url, "/openapi/v3/apis/metrics.example.com/v1?hash=") {
		t.Errorf("the index of OpenAPI v3 has %q", url)
	}
	resources, err := c.Discovery().ServerResourcesForGroupVersion("metrics.example.com/v1")
	if err != nil || len(resources.APIResources) != 1 {
		t.Errorf("%v %v", resources, err)
	}
}

// The condition and the responses to clients, if the server cannot be reached.
func TestAServerThatCannotBeReachedIsUnavailable(t *testing.T) {
	m := &metricsServer{}
	m.down.Store(true)
	c := fakecluster.Start(t, withMetrics(m)...)
	unavailable := func(name, path, want string) {
		t.Helper()
		if got := available(t, c, name); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
		if code, body := send(t, c, path); code != 503 || body != "service unavailable\n" {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	root := c.ServiceURL("kube-system", "metrics", 443) + "/apis/metrics.example.com/v1"
	unavailable("v1.metrics.example.com", "/apis/metrics.example.com/v1", "False FailedDiscoveryCheck: failing or missing response from "+root+": bad status from "+root+": 500")
	_, document := send(t, c, "/apis", "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	if got := gjson.Get(document, `items.#(metadata.name=="metrics.example.com").versions`).Raw; got != `[{"version":"v1","freshness":"Stale"}]` {
		t.Error(got)
	}

	// A request checks again.
	m.down.Store(false)
	if code, body := send(t, c, "/apis/metrics.example.com/v1/nodemetrics/a"); code != 200 {
		t.Errorf("the server is up: %d %s", code, body)
	}
	if got := available(t, c, "v1.metrics.example.com"); got != "True Passed: all checks passed" {
		t.Error(got)
	}

	create := func(name string) {
		t.Helper()
		port := int32(8443)
		a := pointing(name+".example.com", "v1", &apiregistrationv1.ServiceReference{Namespace: "default", Name: name, Port: &port})
		u := unstructuredOf(t, a, "apiregistration.k8s.io/v1", "APIService")
		if _, err := c.Dynamic().Resource(apiServices).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	services := schema.GroupVersionResource{Version: "v1", Resource: "services"}
	slicesOf := schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	put := func(gvr schema.GroupVersionResource, text string) {
		t.Helper()
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Dynamic().Resource(gvr).Namespace("default").Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const apiService = "v1.b.example.com"
	create("b")
	unavailable(apiService, "/apis/b.example.com/v1", `False ServiceNotFound: service/b in "default" is not present`)
	put(services, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"b"},"spec":{"ports":[{"name":"api","port":443}],"clusterIP":"10.0.0.77"}}`)
	unavailable(apiService, "/apis/b.example.com/v1", `False ServicePortError: service/b in "default" is not listening on port 8443`)
	if _, err := c.Dynamic().Resource(services).Namespace("default").Patch(t.Context(), "b", types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/ports/0/port","value":8443}]`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	unavailable(apiService, "/apis/b.example.com/v1", `False EndpointsNotFound: cannot find endpointslices for service/b in "default"`)
	put(slicesOf, `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"b-1","labels":{"kubernetes.io/service-name":"b"}},
		"addressType":"IPv4","endpoints":[{"addresses":["10.1.1.1"]}],"ports":[{"name":"other","port":1}]}`)
	unavailable(apiService, "/apis/b.example.com/v1", `False MissingEndpoints: endpointslices for service/b in "default" have no addresses with port name "api"`)
	put(slicesOf, `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"b-2","labels":{"kubernetes.io/service-name":"b"}},
		"addressType":"IPv4","endpoints":[{"addresses":["10.1.1.1"]}],"ports":[{"name":"api","port":1}]}`)
	unavailable(apiService, "/apis/b.example.com/v1", `False FailedDiscoveryCheck: no route to service "b" in namespace "default": in fakecluster nothing listens at the IP of a service: give it a handler with WithService, or run pods`)
}

func unstructuredOf(t *testing.T, obj any, apiVersion, kind string) *unstructured.Unstructured {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	return u
}

// The certificate of the server has to be signed by the caBundle.
func TestTheCertificateOfAnotherServerIsChecked(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.WithService("kube-system", "metrics", 443, &metricsServer{}))
	a := pointing("metrics.example.com", "v1", &apiregistrationv1.ServiceReference{Namespace: "kube-system", Name: "metrics"})
	client := c.Dynamic().Resource(apiServices)
	if _, err := client.Create(t.Context(), unstructuredOf(t, a, "apiregistration.k8s.io/v1", "APIService"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := available(t, c, a.Name); !strings.HasPrefix(got, "False FailedDiscoveryCheck: ") || !strings.Contains(got, "certificate") {
		t.Error(got)
	}
	bundle, err := json.Marshal(c.CABundle())
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{`{"insecureSkipTLSVerify":true}`, `{"insecureSkipTLSVerify":false,"caBundle":` + string(bundle) + `}`} {
		if _, err := client.Patch(t.Context(), a.Name, types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := available(t, c, a.Name); got != "True Passed: all checks passed" {
			t.Errorf("%s: %s", spec, got)
		}
	}
}

// upgraded takes a connection over and sends back what it reads.
type upgraded struct{ metricsServer }

func (u *upgraded) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Header.Get("Upgrade") == "" {
		u.metricsServer.ServeHTTP(w, req)
		return
	}
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n%s says ", req.Header.Get("X-Remote-User"))
	rw.Flush()
	line, _ := rw.ReadString('\n')
	fmt.Fprint(rw, line)
	rw.Flush()
}

func TestUpgradesReachAnotherServer(t *testing.T) {
	for name, opts := range map[string][]fakecluster.Option{"plain": nil, "audited": {fakecluster.WithAudit(auditv1.LevelMetadata)}} {
		t.Run(name, func(t *testing.T) {
			c := fakecluster.Start(t, withMetrics(&upgraded{}, opts...)...)
			client, err := rest.HTTPClientFor(c.RESTConfig())
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL()+"/apis/metrics.example.com/v1/nodemetrics/a/echo", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", "echo")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusSwitchingProtocols {
				body, _ := io.ReadAll(resp.Body)
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
			if _, err := io.WriteString(resp.Body.(io.Writer), "hello\n"); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(resp.Body).ReadString('\n')
			if line != "kubernetes-admin says hello\n" {
				t.Errorf("%q %v", line, err)
			}
		})
	}
}

func TestAnotherServerWorksInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, withMetrics(&metricsServer{}, fakecluster.InProcess())...)
		if _, err := c.Dynamic().Resource(nodeMetrics).Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		f := c.Fork(t)
		if _, err := f.Dynamic().Resource(nodeMetrics).Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
			t.Errorf("in a fork: %v", err)
		}
		w, err := c.Dynamic().Resource(nodeMetrics).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		<-w.ResultChan()
		synctest.Wait()
		w.Stop()
	})
}

func TestDefinitionsHaveAPIServices(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.WithObjects(definitionIn("v1", "v2")))
	client := c.Dynamic().Resource(apiServices)
	names := func() (found []string) {
		list, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: "kube-aggregator.kubernetes.io/automanaged=true"})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list.Items {
			found = append(found, a.GetName())
		}
		return found
	}
	both := []string{"v1.example.com", "v2.example.com"}
	if diff := cmp.Diff(both, names()); diff != "" {
		t.Fatal(diff)
	}
	a, err := client.Get(t.Context(), "v1.example.com", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"group": "example.com", "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(100)}
	if diff := cmp.Diff(want, a.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got)\n%s", diff)
	}
	if got := available(t, c, "v1.example.com"); got != "True Local: Local APIServices are always available" {
		t.Error(got)
	}
	if got := a.GetManagedFields()[0].Manager; got != "kube-apiserver" {
		t.Errorf("the manager is %s", got)
	}

	// It comes back when it is deleted, and is put right when it is changed.
	if err := client.Delete(t.Context(), "v1.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again, err := client.Get(t.Context(), "v1.example.com", metav1.GetOptions{})
	if err != nil || again.GetUID() == a.GetUID() {
		t.Errorf("after the delete: %v %v", again, err)
	}
	changed, err := client.Patch(t.Context(), "v1.example.com", types.MergePatchType, []byte(`{"spec":{"versionPriority":7}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err = client.Get(t.Context(), "v1.example.com", metav1.GetOptions{}); err != nil || !cmp.Equal(want, again.Object["spec"]) || again.GetResourceVersion() == changed.GetResourceVersion() {
		t.Errorf("after the change: %v %v", again, err)
	}

	// One that has lost the label is a user's.
	if _, err := client.Patch(t.Context(), "v2.example.com", types.MergePatchType, []byte(`{"metadata":{"labels":null},"spec":{"versionPriority":7}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v1.example.com"}, names()); diff != "" {
		t.Error(diff)
	}
	_, group := send(t, c, "/apis/example.com")
	if got := gjson.Get(group, "versions.#.version").Raw; got != `["v1","v2"]` {
		t.Errorf("the versions by priority: %s", got)
	}

	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if err := c.Dynamic().Resource(definitions).Delete(t.Context(), "gadgets.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if left := names(); len(left) != 0 {
		t.Errorf("without the definition: %s", left)
	}
	if _, err := client.Get(t.Context(), "v2.example.com", metav1.GetOptions{}); err != nil {
		t.Errorf("the user's: %v", err)
	}

	// A label alone makes no version.
	spurious := pointing("other.example.com", "v1", nil)
	spurious.Labels = map[string]string{"kube-aggregator.kubernetes.io/automanaged": "true"}
	if _, err := client.Create(t.Context(), unstructuredOf(t, spurious, "apiregistration.k8s.io/v1", "APIService"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if left := names(); len(left) != 0 {
		t.Errorf("without a definition: %s", left)
	}
	// The server's own are made once.
	if err := client.Delete(t.Context(), "v1.apps", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if code, _ := send(t, c, "/apis/apps"); code != 200 {
		t.Errorf("a group without APIServices: %d", code)
	}
	if _, plain := send(t, c, "/apis"); gjson.Get(plain, `groups.#(name=="apps")`).Exists() {
		t.Error("a group without APIServices is among the groups")
	}
}

// definitionIn is a definition of gadgets that serves versions.
func definitionIn(versions ...string) *unstructured.Unstructured {
	var described []any
	for i, v := range versions {
		described = append(described, map[string]any{
			"name": v, "served": true, "storage": i == 0,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "gadgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Cluster", "versions": described,
			"names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
		},
	}}
}
