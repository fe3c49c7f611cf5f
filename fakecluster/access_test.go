package fakecluster_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestKubeconfigLetsOthersIn(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := defined(t, way...)
		created := create(t, inDefault(c), cronTab("a"))

		file, err := c.Kubeconfig()
		must(t, err)
		again, err := c.Kubeconfig()
		must(t, err)
		equal(t, "the second call says the same", string(again), string(file))
		loaded, err := clientcmd.NewClientConfigFromBytes(file)
		must(t, err)
		namespace, _, err := loaded.Namespace()
		must(t, err)
		equal(t, "namespace", namespace, "default")
		cfg, err := loaded.ClientConfig()
		must(t, err)
		if !strings.HasPrefix(cfg.Host, "https://127.0.0.1:") {
			t.Errorf("host %s, want https on the loopback", cfg.Host)
		}
		if strings.HasPrefix(c.URL(), "https:") {
			equal(t, "host", cfg.Host, c.URL())
		}
		equal(t, "the certificate is verified", cfg.Insecure, false)
		equal(t, "token", cfg.BearerToken, c.RESTConfig().BearerToken)

		client, err := dynamic.NewForConfig(cfg)
		must(t, err)
		crontabs := client.Resource(cronTabs).Namespace("default")
		equal(t, "object", get(t, crontabs, "a"), created)
		remove(t, crontabs, "a")
		equal(t, "objects of the same cluster", names(list(t, inDefault(c))), []string{})
	})
}

func TestOnlyTheTokenLetsIn(t *testing.T) {
	const unauthorized = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := defined(t, way...)
		other := defined(t, way...)
		cfg := c.RESTConfig()
		token := cfg.BearerToken
		cfg.BearerToken = ""
		client, err := clientrest.HTTPClientFor(cfg)
		must(t, err)
		defer client.CloseIdleConnections()
		const objects = "/apis/stable.example.com/v1/crontabs"
		for _, c := range []struct {
			rule, path, authorization string
			code                      int
			body                      string // empty: any
		}{
			{"no token", objects, "", 401, unauthorized},
			{"wrong token", objects, "Bearer " + token[1:], 401, unauthorized},
			{"another cluster's token", objects, "Bearer " + other.RESTConfig().BearerToken, 401, unauthorized},
			{"another scheme", objects, "Basic " + token, 401, unauthorized},
			{"no token, no such path", "/nowhere", "", 401, unauthorized},
			{"no token, version", "/version", "", 401, unauthorized},
			{"no token, discovery", "/apis", "", 401, unauthorized},
			{"token", objects, "Bearer " + token, 200, ""},
			{"the scheme in any case", objects, "bearer " + token, 200, ""},
			{"no token, health", "/healthz", "", 200, "ok"},
			{"no token, liveness", "/livez", "", 200, "ok"},
			{"no token, readiness", "/readyz", "", 200, "ok"},
			{"wrong token, health", "/healthz", "Bearer x", 401, unauthorized},
		} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cfg.Host+c.path, nil)
			must(t, err)
			if c.authorization != "" {
				req.Header.Set("Authorization", c.authorization)
			}
			resp, err := client.Do(req)
			must(t, err)
			body, err := io.ReadAll(resp.Body)
			must(t, err)
			resp.Body.Close()
			equal(t, c.rule, resp.StatusCode, c.code)
			if c.body != "" {
				equal(t, c.rule, strings.TrimSpace(string(body)), c.body)
			}
			if c.code == http.StatusUnauthorized {
				equal(t, c.rule, resp.Header.Get("Content-Type"), "application/json")
				var status metav1.Status
				must(t, json.Unmarshal(body, &status))
			}
		}
	})
}
