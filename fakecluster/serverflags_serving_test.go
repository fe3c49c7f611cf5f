package fakecluster_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// putCertificate writes a certificate that signs itself, and its key, and returns their paths as
// --tls-sni-cert-key has them.
func putCertificate(t *testing.T, folder, file, commonName string, names ...string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: commonName}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return put(t, folder, file+".crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))) + "," +
		put(t, folder, file+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// shown returns the common name of the certificate that a server shows to who calls it by a name,
// and the protocol that it chooses.
func shown(t *testing.T, c *fakecluster.Cluster, name string) string {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(c.URL(), "https://"), &tls.Config{ServerName: name, InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	state := conn.ConnectionState()
	return state.PeerCertificates[0].Subject.CommonName + " " + state.NegotiatedProtocol
}

func TestTheCertificateIsOfTheNameThatAClientCalls(t *testing.T) {
	folder := t.TempDir()
	usual := strings.Split(putCertificate(t, folder, "usual", "usual", "usual.example"), ",")
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags(
		"--tls-cert-file="+usual[0], "--tls-private-key-file="+usual[1],
		"--tls-sni-cert-key="+putCertificate(t, folder, "own", "own.example", "also.example"),
		"--tls-sni-cert-key="+putCertificate(t, folder, "given", "given.example")+":*.given.example,also.example",
		"--tls-sni-cert-key="+putCertificate(t, folder, "address", "address")+":127.0.0.1",
		"--tls-sni-cert-key="+putCertificate(t, folder, "late", "late", "own.example"),
	))
	for _, tt := range []struct{ rule, name, want string }{
		{"another name gets the usual one", "other.example", "usual h2"},
		{"the common name counts", "own.example", "own.example h2"},
		{"a name in a flag comes before one in a certificate", "also.example", "given.example h2"},
		{"a name may have a wildcard", "a.given.example", "given.example h2"},
		{"with names in the flag, those of the certificate do not count", "given.example", "usual h2"},
		{"an address is called without a name", "127.0.0.1", "address h2"},
	} {
		if got := shown(t, c, tt.name); got != tt.want {
			t.Errorf("%s: %s gets %s, want %s", tt.rule, tt.name, got, tt.want)
		}
	}
	if _, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the cluster's own client: %v", err)
	}

	// Certificates may be renewed.
	putCertificate(t, folder, "usual", "renewed")
	putCertificate(t, folder, "own", "renewed.example")
	if got := []string{shown(t, c, "other.example"), shown(t, c, "renewed.example"), shown(t, c, "own.example")}; strings.Join(got, ", ") != "renewed h2, renewed.example h2, late h2" {
		t.Errorf("after the renewal: %q", got)
	}
	put(t, folder, "usual.key", "half of a key")
	if got := shown(t, c, "other.example"); got != "renewed h2" {
		t.Errorf("with half of a key: %s", got)
	}

	_, err := fakecluster.New(fakecluster.WithAPIServerFlags("--tls-sni-cert-key=" + filepath.Join(folder, "none.crt") + "," + filepath.Join(folder, "none.key")))
	if err == nil || !strings.HasPrefix(err.Error(), "WithAPIServerFlags: failed to load SNI cert and key: open ") {
		t.Errorf("without the files: %v", err)
	}
}

func TestFlagsForKeyExchange(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags("--tls-curve-preferences=24"))
	for curve, want := range map[tls.CurveID]string{tls.CurveP384: "", tls.X25519: "remote error: tls: handshake failure"} {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(c.URL(), "https://"), &tls.Config{InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{curve}})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			conn.Close()
		}
		if got != want {
			t.Errorf("by %s: %q, want %q", curve, got, want)
		}
	}
	if _, err := fakecluster.New(fakecluster.WithAPIServerFlags("--tls-curve-preferences=1")); err == nil || err.Error() != "WithAPIServerFlags: curve preference 1 is not supported by the current Go version" {
		t.Errorf("an unknown one: %v", err)
	}
}

func TestFlagsForNodePorts(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--service-node-port-range=40000-40000"))
	services := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Services("default")
	create := func(name string, port int32) string {
		s, err := services.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: port}}}}, metav1.CreateOptions{})
		if err != nil {
			return err.Error()
		}
		if got := s.Spec.Ports[0].NodePort; got != 40000 {
			t.Errorf("%s has the node port %d", name, got)
		}
		return ""
	}
	for _, tt := range []struct {
		name string
		port int32
		want string
	}{
		{"usual", 30000, `Service "usual" is invalid: spec.ports[0].nodePort: Invalid value: 30000: provided port is not in the valid range. The range of valid ports is 40000-40000`},
		{"first", 0, ""},
		{"second", 0, `Internal error occurred: failed to allocate a nodePort: range is full`},
	} {
		if got := create(tt.name, tt.port); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFlagsForCORS(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags("--cors-allowed-origins=//page\\.example(:|$)"))
	for _, tt := range []struct{ rule, method, origin, want string }{
		{"a page asks before it sends a request", http.MethodOptions, "https://page.example", "204 https://page.example"},
		{"the answer may be read", http.MethodGet, "https://page.example:8443", "200 https://page.example:8443"},
		{"another page is refused", http.MethodGet, "https://page.example.evil", "403 "},
		{"a program sends no origin", http.MethodGet, "", "200 "},
	} {
		req, err := http.NewRequest(tt.method, c.URL()+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
			req.Header.Set("Sec-Fetch-Site", "cross-site")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Status[:3] + " " + res.Header.Get("Access-Control-Allow-Origin"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.rule, got, tt.want)
		}
	}
	_, err := fakecluster.New(fakecluster.WithAPIServerFlags("--cors-allowed-origins=page"))
	if err == nil || !strings.Contains(err.Error(), "regular expression does not pin to start/end of host in the origin header") {
		t.Errorf("a pattern without an end: %v", err)
	}
}

func TestFlagsForTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--request-timeout=5s", "--min-request-timeout=60"))
		core := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1()
		for _, tt := range []struct {
			rule          string
			timeout       *int64
			least, atMost time.Duration
		}{
			{"a watch without a timeout gets one", nil, time.Minute, 2 * time.Minute},
			{"a watch may have its own", ptr.To[int64](7), 7 * time.Second, 7 * time.Second},
		} {
			began := time.Now()
			w, err := core.ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: tt.timeout})
			if err != nil {
				t.Fatal(err)
			}
			for range w.ResultChan() {
			}
			if took := time.Since(began); took < tt.least || took > tt.atMost {
				t.Errorf("%s: it ended after %v", tt.rule, took)
			}
		}
	})
	for flag, want := range map[string]string{
		"--request-timeout=-1s":    "WithAPIServerFlags: --request-timeout can not be negative value",
		"--min-request-timeout=-1": "WithAPIServerFlags: --min-request-timeout can not be negative value",
	} {
		if _, err := fakecluster.New(fakecluster.WithAPIServerFlags(flag)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", flag, err, want)
		}
	}
}

// answerTo sends a GET as a user, and returns the code and the body of the answer.
func answerTo(t *testing.T, cfg *clientrest.Config, path, accept string) (int, string) {
	t.Helper()
	client, err := clientrest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(cfg.Host, "/")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func TestFlagzShowsTheFlags(t *testing.T) {
	for _, c := range []struct {
		rule    string
		options []fakecluster.Option
		want    []string
	}{
		{"the defaults are those of a cluster", nil, []string{"authorization-mode [RBAC]", "anonymous-auth false", "event-ttl 1h0m0s", "disable-admission-plugins []", "runtime-config ", "help false"}},
		{"flags are as they are given", []fakecluster.Option{fakecluster.WithAPIServerFlags("--authorization-mode=Node,RBAC", "--anonymous-auth", "--max-requests-inflight=7", "--service-account-max-token-expiration=5h")},
			[]string{"authorization-mode [Node,RBAC]", "anonymous-auth true", "max-requests-inflight 7", "service-account-max-token-expiration 5h0m0s"}},
		{"options are reported by the flags that do the same", []fakecluster.Option{fakecluster.WithAuthorization(fakecluster.AlwaysAllow), fakecluster.WithoutNamespaceLifecycle(), fakecluster.WithRuntimeConfig("resource.k8s.io/v1beta2=true")},
			[]string{"authorization-mode [AlwaysAllow]", "disable-admission-plugins [NamespaceLifecycle]", "runtime-config resource.k8s.io/v1beta2=true"}},
	} {
		cluster := fakecluster.Start(t, append(c.options, fakecluster.InProcess())...)
		code, text := answerTo(t, cluster.RESTConfig(), "/flagz", "application/json;v=v1beta1;g=config.k8s.io;as=Flagz")
		equal(t, c.rule, code, http.StatusOK)
		var shown struct{ Flags map[string]string }
		must(t, json.Unmarshal([]byte(text), &shown))
		equal(t, c.rule+": there are all flags", len(shown.Flags), 177)
		for _, want := range c.want {
			name, _, _ := strings.Cut(want, " ")
			equal(t, c.rule, name+" "+shown.Flags[name], want)
		}
	}
	cluster := fakecluster.Start(t, fakecluster.InProcess())
	code, _ := answerTo(t, cluster.ConfigFor("jane"), "/flagz", "text/plain")
	equal(t, "of somebody else", code, http.StatusForbidden)
	code, text := answerTo(t, cluster.RESTConfig(), "/flagz", "text/plain")
	if code != http.StatusOK || !strings.HasPrefix(text, "\napiserver flagz\nWarning: ") ||
		!strings.Contains(text, " only.\nadmission-control:[]\n") || !strings.HasSuffix(text, "\nwatch-cache-sizes:[]\n") {
		t.Errorf("as text: %d %s", code, text)
	}
}

func TestProfilesOfTheProcess(t *testing.T) {
	served := fakecluster.Start(t, fakecluster.InProcess())
	for path, want := range map[string]string{
		"/debug/pprof":                   "<title>/debug/pprof/</title>",
		"/debug/pprof/":                  "<title>/debug/pprof/</title>",
		"/debug/pprof/goroutine?debug=1": "goroutine profile: total ",
		"/debug/pprof/symbol":            "num_symbols: 1\n",
	} {
		if code, text := answerTo(t, served.RESTConfig(), path, "*/*"); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	code, _ := answerTo(t, served.RESTConfig(), "/debug/pprof/cmdline", "*/*")
	equal(t, "what a real server leaves out", code, http.StatusNotFound)
	code, _ = answerTo(t, served.ConfigFor("jane"), "/debug/pprof/", "*/*")
	equal(t, "of somebody else", code, http.StatusForbidden)
	without := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--profiling=false"))
	for _, path := range []string{"/debug/pprof/", "/debug/flags/v"} {
		code, text := answerTo(t, without.RESTConfig(), path, "*/*")
		equal(t, "without profiling", fmt.Sprint(code, " ", text), "404 404 page not found\n")
	}
}

func TestFlowControlByFlags(t *testing.T) {
	few := fakecluster.Start(t, fakecluster.WithAPIServerFlags("--max-requests-inflight=60", "--max-mutating-requests-inflight=40"))
	_, metrics := answerTo(t, few.RESTConfig(), "/metrics", "text/plain")
	if want := `apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-low"} 41`; !strings.Contains(metrics, want) {
		t.Errorf("/metrics has no %s", want)
	}
	off := fakecluster.Start(t, fakecluster.WithAPIServerFlags("--enable-priority-and-fairness=false"))
	if _, metrics = answerTo(t, off.RESTConfig(), "/metrics", "text/plain"); strings.Contains(metrics, "apiserver_flowcontrol_nominal") {
		t.Error("/metrics has metrics of what is turned off")
	}
	for cluster, want := range map[*fakecluster.Cluster]int{few: 1, off: 0} {
		res, err := cluster.RESTConfig().Transport.RoundTrip(httptest.NewRequest(http.MethodGet, cluster.URL()+"/healthz", nil))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		equal(t, "headers", len(res.Header.Values("X-Kubernetes-PF-FlowSchema-UID")), want)
	}
	_, err := fakecluster.New(fakecluster.WithAPIServerFlags("--max-requests-inflight=0", "--max-mutating-requests-inflight=0"))
	expectText(t, "no seats", fmt.Sprint(err), "WithAPIServerFlags: invalid configuration: MaxRequestsInFlight=0 and MaxMutatingRequestsInFlight=0; they must add up to something positive")
}
