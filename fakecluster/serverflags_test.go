package fakecluster_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

// put writes a file into a folder and returns its path.
func put(t *testing.T, folder, name, content string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// anyone is a client of a cluster with a transport of its own, which trusts every certificate.
func anyone(c *fakecluster.Cluster) *clientrest.Config {
	return &clientrest.Config{Host: c.URL(), TLSClientConfig: clientrest.TLSClientConfig{Insecure: true}}
}

// whoIs returns the user of a client, or the reason why it is refused.
func whoIs(t *testing.T, cfg *clientrest.Config) string {
	t.Helper()
	review, err := kubernetes.NewForConfigOrDie(cfg).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err.Error()
	}
	u := review.Status.UserInfo
	return fmt.Sprintf("%s %s %v", u.Username, u.UID, u.Groups)
}

func TestFlagsForUsers(t *testing.T) {
	folder := t.TempDir()
	authority, err := authentication.NewAuthority("suite")
	if err != nil {
		t.Fatal(err)
	}
	strangers, err := authentication.NewAuthority("strangers")
	if err != nil {
		t.Fatal(err)
	}
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags(
		"--client-ca-file="+put(t, folder, "ca.crt", string(authority.PEM())),
		"--token-auth-file="+put(t, folder, "tokens.csv", "of-joe,joe,7,\"dev,ops\"\n"),
		"--anonymous-auth=true",
	))
	certificate := func(authority *authentication.Authority) *clientrest.Config {
		cfg := anyone(c)
		if cfg.CertData, cfg.KeyData, err = authority.ClientCertificate("jane", "system:masters"); err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	bearer := func(token string) *clientrest.Config {
		cfg := anyone(c)
		cfg.BearerToken = token
		return cfg
	}
	jane := whoIs(t, certificate(authority))
	for _, tt := range []struct{ rule, got, want string }{
		{"a client certificate names its user and groups", jane, "jane  [system:masters system:authenticated]"},
		{"one of others is refused", whoIs(t, certificate(strangers)), "Unauthorized"},
		{"a token stands in the file", whoIs(t, bearer("of-joe")), "joe 7 [dev ops system:authenticated]"},
		{"an unknown one is refused", whoIs(t, bearer("of-jim")), "Unauthorized"},
		{"who has no credentials is anonymous and may do nothing", whoIs(t, anyone(c)),
			`selfsubjectreviews.authentication.k8s.io is forbidden: User "system:anonymous" cannot create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope`},
		{"the cluster's own client remains", whoIs(t, c.RESTConfig()), "kubernetes-admin  [system:masters system:authenticated]"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", tt.rule, tt.got, tt.want)
		}
	}
	// A fork has another port and the same users.
	f := c.Fork(t)
	cfg := certificate(authority)
	cfg.Host = f.URL()
	if got := whoIs(t, cfg); got != jane || f.URL() == c.URL() {
		t.Errorf("the fork at %s knows %s", f.URL(), got)
	}
}

func TestFlagsForTokenIssuers(t *testing.T) {
	folder := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := put(t, folder, "sa.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
	flags := fakecluster.WithAPIServerFlags("--service-account-issuer=https://issuer.example", "--service-account-signing-key-file="+file,
		"--service-account-key-file="+file, "--service-account-max-token-expiration=1h", "--api-audiences=api,vault")
	one, other := fakecluster.Start(t, flags, fakecluster.InProcess()), fakecluster.Start(t, flags, fakecluster.InProcess())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	created, err := kubernetes.NewForConfigOrDie(one.RESTConfig()).CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	day := int64(86400)
	request, err := kubernetes.NewForConfigOrDie(one.RESTConfig()).CoreV1().ServiceAccounts("default").
		CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := *request.Spec.ExpirationSeconds; got != 3600 {
		t.Errorf("the token is good for %d s", got)
	}
	if diff := cmp.Diff([]string{"api", "vault"}, request.Spec.Audiences); diff != "" {
		t.Errorf("audiences (-want +got)\n%s", diff)
	}
	bearer := func(c *fakecluster.Cluster) *clientrest.Config {
		cfg := c.RESTConfig()
		cfg.BearerToken = request.Status.Token
		return cfg
	}
	if got, want := whoIs(t, bearer(one)), fmt.Sprintf("system:serviceaccount:default:robot %s [system:serviceaccounts system:serviceaccounts:default system:authenticated]", created.UID); got != want {
		t.Errorf("the bearer is %s, want %s", got, want)
	}
	if got := whoIs(t, bearer(other)); got != "Unauthorized" {
		t.Errorf("where there is no such account, the bearer is %s", got)
	}
	document, err := kubernetes.NewForConfigOrDie(one.RESTConfig()).Discovery().RESTClient().Get().AbsPath("/.well-known/openid-configuration").DoRaw(t.Context())
	if got := gjson.GetBytes(document, "issuer").Str; err != nil || got != "https://issuer.example" {
		t.Errorf("the issuer is %q, %v", got, err)
	}
}

func TestFlagsForAuthorization(t *testing.T) {
	for mode, want := range map[string]string{
		"RBAC": "Forbidden", "AlwaysAllow": "", "AlwaysDeny": "Forbidden", "AlwaysDeny,AlwaysAllow": "", "Node,RBAC": "Forbidden", "Node,AlwaysAllow": "",
	} {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--authorization-mode="+mode))
		_, err := kubernetes.NewForConfigOrDie(c.ConfigFor("jane")).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if got := string(apierrors.ReasonForError(err)); got != want {
			t.Errorf("%s: reason %q, want %q", mode, got, want)
		}
	}
}

func TestFlagsForServiceAddresses(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--service-cluster-ip-range=10.96.0.0/16", "--advertise-address=192.0.2.7"))
	core := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1()
	for name, want := range map[string]string{"kubernetes": "10.96.0.1", "new": "10.96."} {
		if name == "new" {
			if _, err := core.Services("default").Create(t.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		service, err := core.Services("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || !strings.HasPrefix(service.Spec.ClusterIP, want) {
			t.Errorf("%s has %s, %v; want %s", name, service.Spec.ClusterIP, err, want)
		}
	}
	endpoints, err := core.Endpoints("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || endpoints.Subsets[0].Addresses[0].IP != "192.0.2.7" {
		t.Errorf("the server is at %v, %v", endpoints.Subsets, err)
	}
}

func TestFlagsForListening(t *testing.T) {
	reserved, free, err := fakecluster.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	port := strconv.Itoa(reserved)
	address := net.JoinHostPort("127.0.0.1", port)
	inUse, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--secure-port=" + port, "--bind-address=127.0.0.1", "--cert-dir=" + filepath.Join(t.TempDir(), "certs"), "--tls-min-version=VersionTLS13", "--disable-http2-serving"}

	if _, err = fakecluster.New(fakecluster.WithAPIServerFlags(flags...)); err == nil || !strings.HasSuffix(err.Error(), "address already in use") ||
		!strings.HasPrefix(err.Error(), "failed to create listener: failed to listen on "+address+": ") {
		t.Errorf("with the port in use: %v", err)
	}
	inUse.Close()
	serve := func() []byte {
		c, err := fakecluster.New(fakecluster.WithAPIServerFlags(flags...))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if c.URL() != "https://"+address {
			t.Errorf("it is reached at %s", c.URL())
		}
		// A read, because client-go sends it again if the connection to the former cluster at the
		// address has ended.
		if _, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("its own client: %v", err)
		}
		certificate, err := os.ReadFile(strings.TrimPrefix(flags[2], "--cert-dir=") + "/apiserver.crt")
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(certificate)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
		defer client.CloseIdleConnections()
		answer, err := client.Get(c.URL() + "/readyz")
		if err != nil {
			t.Fatalf("with the certificate of the folder: %v", err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if string(body) != "ok" || answer.Proto != "HTTP/1.1" || answer.TLS.Version != tls.VersionTLS13 {
			t.Errorf("answer %q by %s and TLS %x", body, answer.Proto, answer.TLS.Version)
		}
		return certificate
	}
	if first, second := serve(), serve(); string(first) != string(second) {
		t.Error("the certificate is made anew, though it is there")
	}
}

func TestFlagsForAudit(t *testing.T) {
	folder := t.TempDir()
	log := filepath.Join(folder, "new", "audit.log")
	policy := put(t, folder, "policy.yaml", `
apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules:
- {level: RequestResponse, resources: [{group: "", resources: [configmaps]}], verbs: [create], omitStages: [RequestReceived]}
- {level: Metadata, resources: [{group: "", resources: [secrets]}]}
- {level: None}
`)
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--audit-policy-file="+policy, "--audit-log-path="+log))
	core := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1()
	if _, err := core.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.Secrets("default").Get(t.Context(), "a", metav1.GetOptions{}); err == nil {
		t.Fatal("there is a Secret")
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		e := gjson.Parse(line)
		got = append(got, fmt.Sprintf("%s %s %s %s code %s %s managed %t", e.Get("level"), e.Get("stage"), e.Get("verb"), e.Get("objectRef.resource"),
			e.Get("responseStatus.code"), e.Get("responseObject.data"), e.Get("responseObject.metadata.managedFields").Exists()))
	}
	want := []string{
		`RequestResponse ResponseComplete create configmaps code 201 {"k":"v"} managed false`,
		`Metadata RequestReceived get secrets code   managed false`,
		`Metadata ResponseComplete get secrets code 404  managed false`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if trail := c.Audit(); trail != nil {
		t.Errorf("the trail has %d events without WithAudit", len(trail))
	}
}

func TestFlagsThatAreRefused(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	clients, err := authentication.NewAuthority("clients")
	if err != nil {
		t.Fatal(err)
	}
	authority, notPEM := put(t, t.TempDir(), "ca.crt", string(clients.PEM())), put(t, t.TempDir(), "none.crt", "none")
	for _, c := range []struct {
		rule    string
		flags   []string
		options []fakecluster.Option
		want    string
	}{
		{"an unknown flag", []string{"--x"}, nil, "unknown flag: --x"},
		{"what is missing", []string{"--tracing-config-file=a"}, nil, "fakecluster does not have --tracing-config-file=a: there are no traces"},
		{"an address that others reach", []string{"--bind-address=0.0.0.0"}, nil, "fakecluster does not have --bind-address=0.0.0.0: it listens on loopback addresses only"},
		{"no port", []string{"--secure-port=0"}, nil, "--secure-port 0 must be between 1 and 65535, inclusive. It cannot be turned off with 0"},
		{"a missing authority", []string{"--client-ca-file=" + missing}, nil, "--client-ca-file: open " + missing + ": no such file or directory"},
		{"a missing certificate", []string{"--tls-cert-file=" + missing, "--tls-private-key-file=" + missing}, nil, "the certificate of the server: open " + missing + ": no such file or directory"},
		{"a missing key of the issuer", []string{"--service-account-issuer=https://a", "--service-account-signing-key-file=" + missing}, nil,
			"failed to parse service-account-issuer-key-file: open " + missing + ": no such file or directory"},
		{"an issuer without a key", []string{"--service-account-issuer=https://a"}, nil, "--service-account-signing-key-file and --service-account-issuer are required flags"},
		{"an issuer twice", []string{"--service-account-issuer=https://a", "--service-account-issuer=https://a"}, nil, `service-account-issuer "https://a" is already specified`},
		{"an issuer without a name, and keys without TLS", []string{"--service-account-issuer=", "--service-account-jwks-uri=http://a"}, nil,
			"[service-account-issuer should not be an empty string, service-account-jwks-uri requires https scheme, parsed as: http://a]"},
		{"an issuer that is not a URL", []string{"--service-account-issuer=:a"}, nil, `service-account-issuer ":a" contained a ':' but was not a valid URL: parse ":a": missing protocol scheme`},
		{"tokens for a minute", []string{"--service-account-max-token-expiration=1m"}, nil, "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds"},
		{"a certificate without its key", []string{"--tls-cert-file=" + missing}, nil, "the certificate of the server: missing filename for serving cert"},
		{"a missing certificate of the proxy", []string{"--proxy-client-cert-file=" + missing, "--proxy-client-key-file=" + missing}, nil,
			"--proxy-client-cert-file: open " + missing + ": no such file or directory"},
		{"one that is not a certificate", []string{"--proxy-client-cert-file=" + notPEM, "--proxy-client-key-file=" + notPEM}, nil,
			"--proxy-client-cert-file: tls: failed to find any PEM data in certificate input"},
		{"proxies whom users could pass for", []string{"--client-ca-file=" + authority, "--requestheader-client-ca-file=" + authority}, nil,
			"--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating proxy headers for arbitrary users"},
		{"a missing audit policy", []string{"--audit-policy-file=" + missing}, nil, "loading audit policy file: failed to read file path \"" + missing + "\": open " + missing + ": no such file or directory"},
		{"an audit log that cannot be written", []string{"--audit-log-path=" + authority + "/log"}, nil, "--audit-log-path: mkdir " + authority + ": not a directory"},
		{"services nowhere", []string{"--service-cluster-ip-range=ten"}, nil, "service-cluster-ip-range[0] is not a valid cidr"},
		{"what would have no effect", []string{"--max-requests-inflight=-1", "--goaway-chance=0.5"}, nil,
			"[--max-requests-inflight can not be negative value, --goaway-chance can not be less than 0 or greater than 0.02]"},
		{"negative timeouts", []string{"--livez-grace-period=-1s", "--request-timeout=-1s", "--min-request-timeout=-1", "--shutdown-delay-duration=-1s",
			"--shutdown-watch-termination-grace-period=-1s"}, nil,
			"[--livez-grace-period can not be a negative value, --request-timeout can not be negative value, --min-request-timeout can not be negative value, " +
				"--shutdown-delay-duration can not be negative value, shutdown-watch-termination-grace-period, if provided, can not be a negative value]"},
		{"an origin that is not a pattern", []string{"--cors-allowed-origins=^(a$"}, nil,
			"--cors-allowed-origins has an invalid regular expression: error parsing regexp: missing closing ): `^(a$`; an example: //example\\.com(:|$)"},
		{"servers, a storage and a log that there are not", []string{"--apiserver-count=0", "--storage-backend=etcd2", "--logging-format=xml"}, nil,
			"[--apiserver-count should be a positive number, but value '0' provided, --storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3', " +
				`format: Invalid value: "xml": Unsupported log format]`},
		{"levels of a log that cannot be read", []string{"--vmodule=a"}, nil, `invalid argument "a" for "--vmodule" flag: "a" does not have the pattern=N format`},
		{"a buffer of a log that is not a quantity", []string{"--log-text-info-buffer-size=x"}, nil,
			`invalid argument "x" for "--log-text-info-buffer-size" flag: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`},
		{"a mode that there is not", []string{"--authorization-mode=Node,Dice"}, nil, `authorization-mode "Dice" is not a valid mode`},
		{"ABAC without policies", []string{"--authorization-mode=ABAC"}, nil, "authorization-mode ABAC's authorization policy file not passed"},
		{"policies without ABAC", []string{"--authorization-policy-file=" + missing}, nil, "cannot specify --authorization-policy-file without mode ABAC"},
		{"a webhook without its mode", []string{"--authorization-webhook-config-file=" + missing}, nil, "cannot specify --authorization-webhook-config-file without mode Webhook"},
		{"modes twice", []string{"--authorization-mode=RBAC", "--authorization-config=" + missing}, nil,
			"--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined"},
		{"a missing configuration", []string{"--authorization-config=" + missing}, nil, "open " + missing + ": no such file or directory"},
		{"a missing token webhook", []string{"--authentication-token-webhook-config-file=" + missing}, nil,
			"--authentication-token-webhook-config-file: stat " + missing + ": no such file or directory"},
		{"a directive that there is not", []string{"--strict-transport-security-directives=max-age=1,always"}, nil,
			"--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information"},
		{"a feature gate", []string{"--feature-gates=AllAlpha=true"}, nil, "fakecluster cannot set feature gate AllAlpha to true: it changes gates that cannot be changed"},
		{"a plugin that there is not", []string{"--enable-admission-plugins=Mind"}, nil, `enable-admission-plugins plugin "Mind" is unknown`},
		{"the same by an option", []string{"--authorization-mode=RBAC"}, []fakecluster.Option{fakecluster.WithAuthorization(fakecluster.AlwaysAllow)},
			"WithAuthorization and --authorization-mode say the same; give one of them"},
		{"an address without a socket", []string{"--secure-port=1234"}, []fakecluster.Option{fakecluster.InProcess()}, "InProcess excludes flags about the socket, such as --secure-port: remove one of them"},
	} {
		cluster, err := fakecluster.New(append(c.options, fakecluster.WithAPIServerFlags(c.flags...))...)
		if err == nil {
			cluster.Close()
			t.Errorf("%s is accepted", c.rule)
			continue
		}
		got := err.Error()
		for _, prefix := range []string{"WithAPIServerFlags: ", "starting the server: "} {
			got = strings.TrimPrefix(got, prefix)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.rule, got, c.want)
		}
	}
}

func TestStrictTransportSecurity(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  string
	}{{nil, ""}, {[]string{"--strict-transport-security-directives=max-age=31536000,includeSubDomains"}, "max-age=31536000; includeSubDomains"}} {
		cluster := fakecluster.Start(t, fakecluster.WithAPIServerFlags(c.flags...))
		res, err := http.Get(cluster.URL() + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		expectText(t, "the header", res.Header.Get("Strict-Transport-Security"), c.want)
	}
}
