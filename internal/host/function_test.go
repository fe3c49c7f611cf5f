package host_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/host"
)

// hookConfiguration has a webhook for ConfigMaps that calls the Service hook.
const hookConfiguration = `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "hook"}, "webhooks": [{
	"name": "hook.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
	"clientConfig": {"service": {"namespace": "default", "name": "hook", "path": "/maps"}},
	"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}]}`

// tryFunctions checks that a cluster calls the handlers at the URLs of its client, for Services and for webhooks.
func tryFunctions(t *testing.T, c *client) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review struct{ Request struct{ UID, Name string } }
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		if review.Request.Name == "panic" {
			w.Header().Set("Fakecluster-Panic", "out of order (there)")
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": %q, "allowed": false, "status": {"message": "no by %s of %s"}}}`,
			review.Request.UID, req.URL.Path, req.Host)
	}))
	defer server.Close()
	denied := func(made host.Cluster, name, want string) {
		t.Helper()
		req, err := http.NewRequest("POST", made.URL+mapsPath, strings.NewReader(`{"metadata": {"name": "`+name+`"}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+made.Token)
		req.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var status struct{ Message string }
		if err := json.NewDecoder(answer.Body).Decode(&status); err != nil || !strings.Contains(status.Message, want) {
			t.Errorf("%d %q, want %q; %v", answer.StatusCode, status.Message, want, err)
		}
	}
	paths := quote(write(t, "webhook.json", hookConfiguration))
	made := c.start(`{"session": "SESSION", "webhookPaths": [` + paths + `], "services": [{"namespace": "default", "name": "hook", "port": 443, "url": "` + server.URL + `/base"}]}`)
	if len(made.Services) != 1 || !strings.HasPrefix(made.Services[0].Address, "https://127.0.0.1:") || made.CABundle == "" {
		t.Errorf("the cluster: %+v", made)
	}
	denied(made, "a", "no by /base/maps of hook.default.svc:443")
	denied(made, "panic", "EOF")
	if found := do[host.Findings](c, "GET /v1/clusters/{cluster}/findings", made.Cluster, "").Text; !strings.Contains(found, "out of order (there)") {
		t.Errorf("the findings: %s", found)
	}
	forked := do[host.Cluster](c, "POST /v1/clusters/{cluster}/fork", made.Cluster, `{"session": "SESSION"}`)
	denied(forked, "a", "no by /base/maps of hook.default.svc:443")
	if forked.Services[0].Address == made.Services[0].Address {
		t.Errorf("the Service of the fork is at %s, where that of its origin is", forked.Services[0].Address)
	}

	served := c.start(`{"session": "SESSION", "webhookPaths": [` + paths + `]}`)
	do[struct{}](c, "POST /v1/clusters/{cluster}/webhooks", served.Cluster, `{"url": "`+server.URL+`/served"}`)
	denied(served, "a", "no by /served/maps")

	for body, want := range map[string]string{
		`{}`:                           "url is missing: it says where the client serves the handler",
		`{"url": "http://10.0.0.1/x"}`: `url: \"http://10.0.0.1/x\" is not an http URL of this machine`,
		`{"url": "https://127.0.0.1"}`: "is not an http URL of this machine",
	} {
		if code, text := c.send("POST", "/v1/clusters/"+served.Cluster+"/webhooks", body); code != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", body, code, text, want)
		}
	}
	for _, one := range []host.Cluster{made, forked, served} {
		do[host.Ended](c, "DELETE /v1/clusters/{cluster}", one.Cluster, "")
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
