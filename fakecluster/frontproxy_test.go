package fakecluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

// seesClients serves as a metricsServer does, and answers requests for an object with the name in the certificate of the client. Each
// connection is for one request.
type seesClients struct{ metricsServer }

func (s *seesClients) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Connection", "close")
	if req.URL.Path != "/apis/metrics.example.com/v1/nodemetrics/a" {
		s.metricsServer.ServeHTTP(w, req)
		return
	}
	name := "nobody"
	if len(req.TLS.PeerCertificates) > 0 {
		name = req.TLS.PeerCertificates[0].Subject.CommonName
	}
	fmt.Fprint(w, name)
}

// clientName returns the name that a handler has seen.
func clientName(t *testing.T, c *fakecluster.Cluster) string {
	t.Helper()
	body, err := c.Clientset().Discovery().RESTClient().Get().AbsPath("/apis/metrics.example.com/v1/nodemetrics/a").DoRaw(t.Context())
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// TestAggregatedServersSeeTheCertificateOfTheFlags proves that it is read again for each connection, also in a fork, and that one of
// the flags alone means nothing, as on a real server.
func TestAggregatedServersSeeTheCertificateOfTheFlags(t *testing.T) {
	authority, err := authentication.NewAuthority("proxies")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name string) (cert, key string) {
		certificate, private, err := authority.ClientCertificate(name)
		if err != nil {
			t.Fatal(err)
		}
		return put(t, folder, "proxy.crt", string(certificate)), put(t, folder, "proxy.key", string(private))
	}
	cert, key := write("one")
	for _, inProcess := range []bool{false, true} {
		write("one")
		opts := withMetrics(&seesClients{}, fakecluster.WithAPIServerFlags("--proxy-client-cert-file="+cert, "--proxy-client-key-file="+key))
		if inProcess {
			opts = append(opts, fakecluster.InProcess())
		}
		c := fakecluster.Start(t, opts...)
		expectText(t, "the certificate", clientName(t, c), "one")
		write("two")
		expectText(t, "a new one", clientName(t, c), "two")
		expectText(t, "in a fork", clientName(t, c.Fork(t)), "two")
		if err := os.WriteFile(key, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		expectText(t, "one that cannot be read", clientName(t, c), "two")
	}
	write("one")
	for _, flag := range []string{"--proxy-client-cert-file=" + cert, "--proxy-client-key-file=" + key} {
		c := fakecluster.Start(t, withMetrics(&seesClients{}, fakecluster.WithAPIServerFlags(flag))...)
		expectText(t, flag, clientName(t, c), "nobody")
	}
}

// TestTheFrontProxyOfAClusterWithPods proves that aggregated servers may believe a cluster from the time when pods run in it, unless a flag
// says whom they believe.
func TestTheFrontProxyOfAClusterWithPods(t *testing.T) {
	authority, err := authentication.NewAuthority("proxies")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	certificate, private, err := authority.ClientCertificate("front")
	if err != nil {
		t.Fatal(err)
	}
	proxies := put(t, folder, "proxies.crt", string(authority.PEM()))
	cert, key := put(t, folder, "proxy.crt", string(certificate)), put(t, folder, "proxy.key", string(private))
	for _, c := range []struct {
		rule  string
		flags []string
		sees  string
		names string // in the ConfigMap
	}{
		{"no flags", nil, "front-proxy-client", `["front-proxy-client"]`},
		{"another flag", []string{"--client-ca-file=" + proxies}, "front-proxy-client", `["front-proxy-client"]`},
		{"a certificate", []string{"--proxy-client-cert-file=" + cert, "--proxy-client-key-file=" + key}, "front", ""},
		{"whom servers believe", []string{"--requestheader-client-ca-file=" + proxies, "--requestheader-allowed-names=other"}, "nobody", `["other"]`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			cluster := fakecluster.Start(t, withMetrics(&seesClients{}, fakecluster.WithAPIServerFlags(c.flags...))...)
			info := func() map[string]string {
				return made[*corev1.ConfigMap](t)(cluster.Clientset().CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})).Data
			}
			if names := info()["requestheader-allowed-names"]; len(c.flags) == 0 && names != "" {
				t.Errorf("without pods the names are %s", names)
			}
			a, err := cluster.Attach("pods", func() {})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Connect(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("there are no pods") }); err != nil {
				t.Fatal(err)
			}
			expectText(t, "the certificate", clientName(t, cluster), c.sees)
			expectText(t, "the names", info()["requestheader-allowed-names"], c.names)
			if c.sees == "front-proxy-client" {
				expectText(t, "the header of users", info()["requestheader-username-headers"], `["X-Remote-User"]`)
			}
		})
	}
}
