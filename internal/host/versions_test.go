package host_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/host"
	"github.com/fakecluster/fakecluster/internal/release"
)

// newest is the version of the process of the test.
var newest = release.Newest().String()

// A cluster of another version is in the host of this version, and is used as if it were here. It ends with its session here.
func TestAClusterOfAnotherVersion(t *testing.T) {
	there := host.New(host.Options{Token: "secret"})
	t.Cleanup(func() { _ = there.Close() })
	server := httptest.NewServer(there)
	t.Cleanup(server.Close)
	var started []string
	here := host.New(host.Options{Other: func(version string) ([]string, error) {
		started = append(started, version)
		if version == "1.36" {
			return nil, errors.New("no")
		}
		return []string{server.URL, "secret"}, nil
	}})
	t.Cleanup(func() { _ = here.Close() })
	c := openSession(t, here)
	own := c.start(`{"session": "SESSION", "kubernetesVersion": "` + newest + `"}`)
	made := c.start(`{"session": "SESSION", "kubernetesVersion": "1.35", "seed": 1}`)
	if _, err := clientset(t, made.Kubeconfig).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	forked := do[host.Cluster](c, "POST /v1/clusters/{cluster}/fork", made.Cluster, `{"session": "SESSION"}`)
	if _, err := clientset(t, forked.Kubeconfig).CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Errorf("an object in the fork: %v", err)
	}
	if diff := cmp.Diff([]string{"1.35"}, started); diff != "" {
		t.Errorf("hosts that were started (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{own.Cluster, made.Cluster, forked.Cluster}, do[host.Clusters](c, "GET /v1/clusters", "", "").Clusters); diff != "" {
		t.Errorf("clusters here (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(made, do[host.Cluster](c, "GET /v1/clusters/{cluster}", made.Cluster, "")); diff != "" {
		t.Errorf("the cluster described again (-want +got):\n%s", diff)
	}

	// Requests with a body, with a query and with an error reach it.
	do[host.Injection](c, "POST /v1/clusters/{cluster}/faults", forked.Cluster, `{"verb": "update", "resource": "configmaps", "effect": {"type": "Conflict"}}`)
	history := do[host.History](c, "GET /v1/clusters/{cluster}/history?kind=ConfigMap&name=a&namespace=default", made.Cluster, "")
	if len(history.Revisions) != 1 {
		t.Errorf("the history of the object: %+v", history)
	}
	for _, test := range []struct {
		rule, method, path, body string
		code                     int
		want                     string
	}{
		{
			"an error of the other host", "POST", "/v1/clusters/" + made.Cluster + "/faults", `{"verb": "upd", "effect": {"type": "Conflict"}}`, http.StatusBadRequest,
			`{"error":"the fault cannot be injected: there is no verb \"upd\"; there are get, list, watch, create, update, patch, delete, deletecollection"}` + "\n",
		},
		{
			"an error of a start in the other host", "POST", "/v1/clusters", `{"session": "SESSION", "kubernetesVersion": "1.35", "crdPaths": ["x"]}`, http.StatusBadRequest,
			`{"error":"the path \"x\" is relative: give an absolute one, because the host runs in another folder"}` + "\n",
		},
		{
			"a version that does not exist", "POST", "/v1/clusters", `{"session": "SESSION", "kubernetesVersion": "1.30"}`, http.StatusBadRequest,
			`{"error":"kubernetesVersion: fakecluster does not have Kubernetes \"1.30\": write ` + release.Choices() + `"}` + "\n",
		},
		{
			"a host that does not start", "POST", "/v1/clusters", `{"session": "SESSION", "kubernetesVersion": "1.36"}`, http.StatusInternalServerError,
			`{"error":"the host of Kubernetes 1.36: no"}` + "\n",
		},
	} {
		if code, text := c.send(test.method, test.path, test.body); code != test.code || text != test.want {
			t.Errorf("%s: %d %s, want %d %s", test.rule, code, text, test.code, test.want)
		}
	}

	ended := do[host.Ended](c, "DELETE /v1/clusters/{cluster}", forked.Cluster, "")
	if len(ended.Errors) != 1 {
		t.Errorf("the end of a cluster with a fault that has not fired: %q", ended.Errors)
	}
	// The clusters there end with the session here.
	if sessions, clusters := inUse(t, there); sessions != 1 || clusters != 1 {
		t.Errorf("the other host has %d sessions and %d clusters", sessions, clusters)
	}
	c.end()
	server.Close() // waits for the requests, one of which is the session
	if sessions, clusters := inUse(t, there); sessions != 0 || clusters != 0 {
		t.Errorf("after the end, the other host has %d sessions and %d clusters", sessions, clusters)
	}
}

// inUse counts what a host with the token has.
func inUse(t *testing.T, h *host.Host) (sessions, clusters int) {
	t.Helper()
	req := httptest.NewRequest("GET", "http://127.0.0.1/v1/info", nil)
	req.Header.Set("Authorization", "Bearer secret")
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, req)
	var info host.Info
	if err := json.Unmarshal(answer.Body.Bytes(), &info); err != nil {
		t.Fatal(err)
	}
	return info.Sessions, info.Clusters
}
