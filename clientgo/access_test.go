package clientgo

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func serveVersion(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Authorization"); got != "Bearer secret" || r.URL.Path != "/version" {
		http.Error(w, r.URL.Path+" for "+got, http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"gitVersion":"v1.37.0"}`)
}

func wantVersion(t *testing.T, cfg *rest.Config) {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	d, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, client)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := d.ServerVersion(); err != nil || v.GitVersion != "v1.37.0" {
		t.Errorf("version %v, %v", v, err)
	}
}

func TestAccessReachesTheServer(t *testing.T) {
	h := http.HandlerFunc(serveVersion)
	plain := httptest.NewServer(h)
	defer plain.Close()
	secure := httptest.NewTLSServer(h)
	defer secure.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	tr := InProcess(h)
	defer tr.Close()

	for rule, a := range map[string]Access{
		"over HTTP":                       {URL: plain.URL, Token: "secret"},
		"over HTTPS":                      {URL: secure.URL, Token: "secret", CAData: ca},
		"in process":                      {Token: "secret", Transport: tr},
		"in process, beside a server":     {URL: plain.URL, Token: "secret", Transport: tr},
		"in process, beside a TLS server": {URL: secure.URL, Token: "secret", CAData: ca, Transport: tr},
	} {
		t.Run(rule, func(t *testing.T) {
			wantVersion(t, a.RESTConfig())
			if !strings.HasPrefix(a.URL, "https") {
				return
			}
			kubeconfig, err := a.Kubeconfig()
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			wantVersion(t, cfg)
		})
	}
}

func TestRESTConfigIsAFreshCopyWithoutRateLimitAndCompression(t *testing.T) {
	a := Access{URL: "https://cluster.test", Token: "secret", CAData: []byte("ca")}
	cfg := a.RESTConfig()
	want := &rest.Config{
		Host: "https://cluster.test", BearerToken: "secret", QPS: -1, DisableCompression: true,
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca")},
	}
	if cfg.String() != want.String() || cfg.BearerToken != want.BearerToken || string(cfg.CAData) != "ca" {
		t.Errorf("got %v, want %v", cfg, want)
	}
	cfg.Host, cfg.CAData[0] = "elsewhere", 'x'
	if again := a.RESTConfig(); again.Host != a.URL || string(again.CAData) != "ca" {
		t.Errorf("a change to one shows in the next: %v", again)
	}
}

func TestKubeconfigIsComplete(t *testing.T) {
	got, err := Access{URL: "https://127.0.0.1:6443", Token: "secret", CAData: []byte("ca")}.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Y2E=
    disable-compression: true
    server: https://127.0.0.1:6443
  name: fakecluster
contexts:
- context:
    cluster: fakecluster
    namespace: default
    user: fakecluster
  name: fakecluster
current-context: fakecluster
kind: Config
users:
- name: fakecluster
  user:
    token: secret
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestKubeconfigFailsWhereItCannotWork(t *testing.T) {
	for _, c := range []struct {
		rule   string
		access Access
		want   string
	}{
		{"in process", Access{Token: "secret", Transport: InProcess(http.NotFoundHandler())},
			"clientgo: no kubeconfig for an in-process cluster: other processes cannot reach it"},
		{"a token over plain HTTP", Access{URL: "http://127.0.0.1:8080", Token: "secret"},
			"clientgo: no kubeconfig for a cluster with a token over plain HTTP: kubectl and clientcmd send credentials over https only"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got, err := c.access.Kubeconfig(); got != nil || errorText(err) != c.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// The reason for the second of them.
func TestClientcmdSendsNoTokenOverPlainHTTP(t *testing.T) {
	kubeconfig, err := Access{URL: "https://127.0.0.1:8080", Token: "secret"}.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig([]byte(strings.Replace(string(kubeconfig), "https:", "http:", 1)))
	if err != nil || cfg.BearerToken != "" {
		t.Errorf("token %q, %v: it does now, and Kubeconfig need not refuse", cfg.BearerToken, err)
	}
}
