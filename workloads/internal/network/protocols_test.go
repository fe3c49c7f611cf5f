package network

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fakecluster/fakecluster/internal/pipe"
)

// certificate returns a certificate for web.default.svc.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "web"}, DNSNames: []string{"web.default.svc"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

func TestHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		client, server := w.pod(), w.pod()
		w.service("web", func(s *corev1.Service) {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "https", Port: 443})
		})
		w.endpoints("web", endpointOf(server))
		handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			n, _ := io.Copy(io.Discard, req.Body)
			fmt.Fprintf(w, "%s %s %d", req.Proto, req.Host, n)
		})
		plain, err := server.Listen("tcp", ":8080")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = http.Serve(plain, handler) }()
		certificate, roots := certificate(t)
		secure, err := server.Listen("tcp", ":8443")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: handler, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
		go func() { _ = s.ServeTLS(secure, "", "") }()

		inPod := client.HTTPClient()
		inPod.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots, ServerName: "web.default.svc"}
		body := strings.Repeat("x", 3*pipe.BufferSize)
		for _, test := range []struct {
			client    *http.Client
			url, want string
		}{
			{inPod, "http://web/", "HTTP/1.1 web 196608"},
			{inPod, "http://web/again", "HTTP/1.1 web 196608"},
			{w.HTTPClient(), "http://web.default.svc.cluster.local/", "HTTP/1.1 web.default.svc.cluster.local 196608"},
			{inPod, "https://10.244.0.2:8443/", "HTTP/2.0 10.244.0.2:8443 196608"},
		} {
			resp, err := test.client.Post(test.url, "text/plain", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				continue
			}
			got, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if string(got) != test.want || err != nil {
				t.Errorf("%s answers %q, want %q; %v", test.url, got, test.want, err)
			}
		}
		_, err = inPod.Get("http://web:443/")
		fails(t, err, `Get "http://web:443/": dial tcp 10.0.0.7:443: connect: connection refused`, nil)
	})
}

// health is a gRPC server that reports its health, of the services up and down.
type health struct {
	healthv1.UnimplementedHealthServer
}

func (health) Check(ctx context.Context, req *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	switch req.Service {
	case "down":
		return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_NOT_SERVING}, nil
	case "slow":
		// The client's deadline ends at the same instant, so that either answer may be the first.
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING}, nil
}

func TestGRPC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		client, server := w.pod(), w.pod()
		w.service("web")
		w.endpoints("web", endpointOf(server))
		l, err := server.Listen("tcp", ":8080")
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		healthv1.RegisterHealthServer(s, health{})
		go func() { _ = s.Serve(l) }()
		defer s.Stop()
		c, err := grpc.NewClient("passthrough:///web:80", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return client.Dial(ctx, "tcp", address) }))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		answer, err := healthv1.NewHealthClient(c).Check(t.Context(), &healthv1.HealthCheckRequest{Service: "up"})
		if err != nil || answer.Status != healthv1.HealthCheckResponse_SERVING {
			t.Error(answer, err)
		}
	})
}

func TestProbesHaveTheOutputOfAKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod := w.pod()
		plain, err := pod.Listen("tcp", ":8080")
		if err != nil {
			t.Fatal(err)
		}
		from := make(chan string, 1)
		go func() {
			_ = http.Serve(plain, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				switch req.URL.Path {
				case "/healthz":
					from <- req.RemoteAddr + " " + req.UserAgent()[:len("kube-probe/")]
				case "/broken":
					w.WriteHeader(http.StatusInternalServerError)
				case "/elsewhere":
					http.Redirect(w, req, "http://example.com/", http.StatusFound)
				case "/slow":
					<-req.Context().Done()
				}
			}))
		}()
		l, err := pod.Listen("tcp", ":9090")
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		healthv1.RegisterHealthServer(s, health{})
		go func() { _ = s.Serve(l) }()
		defer s.Stop()
		get := func(path string, port any) corev1.ProbeHandler {
			to := intstr.FromInt32(8080)
			switch port := port.(type) {
			case int:
				to = intstr.FromInt32(int32(port))
			case string:
				to = intstr.FromString(port)
			}
			return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: to}}
		}
		tcp := func(port int32) corev1.ProbeHandler {
			return corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}}
		}
		rpc := func(port int32, service string) corev1.ProbeHandler {
			return corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: port, Service: &service}}
		}
		container := &corev1.Container{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}
		for _, test := range []struct {
			probe        corev1.ProbeHandler
			result, want string
		}{
			{get("/healthz", "http"), "success", ""},
			{get("/broken", nil), "failure", "HTTP probe failed with statuscode: 500"},
			{get("/elsewhere", nil), "warning", "Probe terminated redirects, Response body: <a href=\"http://example.com/\">Found</a>.\n\n"},
			{get("/slow", nil), "failure", `Get "http://10.244.0.1:8080/slow": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`},
			{get("/", 81), "failure", `Get "http://10.244.0.1:81/": dial tcp 10.244.0.1:81: connect: connection refused`},
			{tcp(8080), "success", ""},
			{tcp(81), "failure", "dial tcp 10.244.0.1:81: connect: connection refused"},
			{rpc(9090, "up"), "success", "service healthy"},
			{rpc(9090, "down"), "failure", `service unhealthy (responded with "NOT_SERVING")`},
			{rpc(9090, "slow"), "failure", "timeout: health rpc did not complete within 1s"},
			{rpc(81, ""), "failure", `timeout: failed to connect service "10.244.0.1:81" within 1s: context deadline exceeded`},
		} {
			began := time.Now()
			result, output, err := pod.Probe(t.Context(), &corev1.Probe{ProbeHandler: test.probe, TimeoutSeconds: 1}, container)
			if string(result) != test.result || output != test.want || err != nil {
				t.Errorf("%s %q, want %s %q; %v", result, output, test.result, test.want, err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %v", took)
			}
		}
		if got := <-from; !strings.HasPrefix(got, "172.18.0.1:") || !strings.HasSuffix(got, " kube-probe/") {
			t.Errorf("the probe comes from %s", got)
		}
		_, _, err = pod.Probe(t.Context(), &corev1.Probe{ProbeHandler: get("/", "metrics")}, container)
		fails(t, err, `port "metrics" not found`, nil)
	})
}
