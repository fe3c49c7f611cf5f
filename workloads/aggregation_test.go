package workloads_test

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestAnAggregatedServerInPods proves that an APIService becomes available, and unavailable, when its pods begin and cease to answer,
// without a request or a write, and that they may believe who the user is by the ConfigMap that servers of k8s.io/apiserver read.
func TestAnAggregatedServerInPods(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(web)
		a, err := authentication.NewAuthority("test")
		if err != nil {
			w.Fatal(err)
		}
		w.create(fmt.Sprintf(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.metrics.example.com}
spec:
  group: metrics.example.com
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 10
  service: {namespace: default, name: web}
  caBundle: %s
`, base64.StdEncoding.EncodeToString(a.PEM())))
		available := func() string { return condition(w.object("apiservices", "v1.metrics.example.com"), "Available") }
		w.check("the APIService", available(), "False FailedDiscoveryCheck")

		info, err := w.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(w.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
		if err != nil {
			w.Fatal(err)
		}
		proxies := x509.NewCertPool()
		if !proxies.AppendCertsFromPEM([]byte(info.Data["requestheader-client-ca-file"])) {
			w.Fatalf("the ConfigMap has no authority: %v", info.Data)
		}
		users, _, _ := unstructured.NestedString(w.object("configmaps", "kube-root-ca.crt").Object, "data", "ca.crt")
		w.check("the authority of users", info.Data["client-ca-file"], users)
		w.check("the names", info.Data["requestheader-allowed-names"], `["front-proxy-client"]`)
		stop := w.serve(a, func(pod string) http.Handler {
			served := inPod(pod)
			return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				for _, certificate := range req.TLS.PeerCertificates {
					_, err := certificate.Verify(x509.VerifyOptions{Roots: proxies, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
					if err == nil && certificate.Subject.CommonName == "front-proxy-client" {
						served.ServeHTTP(rw, req)
						return
					}
				}
				http.Error(rw, "a stranger", http.StatusUnauthorized)
			})
		})
		w.pass(30 * time.Second)
		w.check("the APIService", available(), "True Passed")
		body, err := w.client.Discovery().RESTClient().Get().AbsPath("/apis/metrics.example.com/v1/who").DoRaw(w.Context())
		if who := string(body); err != nil || who != "pod 0 for kubernetes-admin" && who != "pod 1 for kubernetes-admin" {
			w.Errorf("%q answers; %v", who, err)
		}

		stop()
		w.pass(30 * time.Second)
		w.check("the APIService", available(), "False FailedDiscoveryCheck")
	}, workloads.Nodes(1))
}
