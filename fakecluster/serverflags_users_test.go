package fakecluster_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

// review is a webhook that answers reviews, and the kubeconfig that leads to it.
func review[T any](t *testing.T, folder, name string, answer func(*T)) (path string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r := new(T)
		if err := json.NewDecoder(req.Body).Decode(r); err != nil {
			t.Error(err)
		}
		answer(r)
		if err := json.NewEncoder(w).Encode(r); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	ca := put(t, folder, name+".crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	return put(t, folder, name+".yaml", fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`, server.URL, ca))
}

// refusedList returns the reason why a user may not list Pods in a namespace; empty if allowed.
func refusedList(t *testing.T, c *fakecluster.Cluster, namespace, user string, groups ...string) string {
	t.Helper()
	_, err := kubernetes.NewForConfigOrDie(c.ConfigFor(user, groups...)).CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err == nil {
		return ""
	}
	return err.Error()
}

func expectText(t *testing.T, rule, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", rule, got, want)
	}
}

func TestABAC(t *testing.T) {
	policies := put(t, t.TempDir(), "policies.jsonl", `
{"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": {"user": "jane", "namespace": "shop", "resource": "pods", "readonly": true}}
`)
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--authorization-mode=ABAC", "--authorization-policy-file="+policies))
	expectText(t, "what a policy allows", refusedList(t, c, "shop", "jane"), "")
	expectText(t, "in another namespace", refusedList(t, c, "default", "jane"), `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default": abac: No policy matched.`)
}

func TestTheModeNode(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"),
		fakecluster.WithObjects(
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "password"}},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", Image: "i"}},
				Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "password"}}}},
			}}))
	kubelet := kubernetes.NewForConfigOrDie(c.ConfigFor("system:node:a", "system:nodes"))
	admin := kubernetes.NewForConfigOrDie(c.RESTConfig())
	read := func() string {
		_, err := kubelet.CoreV1().Secrets("default").Get(t.Context(), "password", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return ""
	}
	expectText(t, "before a Pod is bound to the node", read(),
		`secrets "password" is forbidden: User "system:node:a" cannot get resource "secrets" in API group "" in the namespace "default": node: no relationship found between node 'a' and this object`)
	if err := admin.CoreV1().Pods("default").Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Target: corev1.ObjectReference{Kind: "Node", Name: "a"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expectText(t, "once a Pod is bound to it", read(), "")
	if _, err := kubelet.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("a kubelet makes its node: %v", err)
	}
	_, err := kubelet.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, metav1.CreateOptions{})
	expectText(t, "but no other", fmt.Sprint(err), `nodes "b" is forbidden: node "a" is not allowed to modify node "b"`)
}

func TestAuthorizationWebhook(t *testing.T) {
	calls := 0
	webhook := review(t, t.TempDir(), "webhook", func(r *authorizationv1.SubjectAccessReview) {
		calls++
		r.Status.Allowed = r.Spec.ResourceAttributes != nil && r.Spec.ResourceAttributes.Namespace == "shop"
		r.Status.Reason = "not for " + r.Spec.User
	})
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags("--authorization-mode=Webhook", "--authorization-webhook-config-file="+webhook, "--authorization-webhook-version=v1"))
	expectText(t, "what the webhook allows", refusedList(t, c, "shop", "jane"), "")
	expectText(t, "what it does not", refusedList(t, c, "default", "jane"), `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default": default: not for jane`)
	before := calls
	expectText(t, "once more", refusedList(t, c, "shop", "jane"), "")
	if calls != before {
		t.Error("the webhook is called again, though its answer is good for five minutes")
	}
}

func TestAuthorizationConfig(t *testing.T) {
	folder := t.TempDir()
	write := func(mode, name string) string {
		return put(t, folder, "config.yaml", fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n- type: RBAC\n  name: rbac\n- type: %s\n  name: %s\n", mode, name))
	}
	path := write("AlwaysAllow", "alwaysallow")
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--authorization-config="+path))
	expectText(t, "what the file says", refusedList(t, c, "default", "jane"), "")
	put(t, folder, "config.yaml", "{")
	expectText(t, "a file that cannot be read changes nothing", refusedList(t, c, "default", "jane"), "")
	write("AlwaysDeny", "alwaysdeny")
	expectText(t, "nor does one that leaves out a mode", refusedList(t, c, "default", "jane"), "")
	fork := c.Fork(t)
	expectText(t, "a fork", refusedList(t, fork, "default", "jane"), "")
}

func TestTokenWebhook(t *testing.T) {
	webhook := review(t, t.TempDir(), "webhook", func(r *authenticationv1.TokenReview) {
		if r.Spec.Token == "of-joe" {
			r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "joe", UID: "7", Groups: []string{"dev"}}}
		}
	})
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags("--authentication-token-webhook-config-file="+webhook, "--authentication-token-webhook-version=v1"))
	bearer := func(token string) *clientrest.Config { return &clientrest.Config{Host: c.URL(), BearerToken: token} }
	expectText(t, "a token that the webhook knows", whoIs(t, bearer("of-joe")), "joe 7 [dev system:authenticated]")
	expectText(t, "one that it does not", whoIs(t, bearer("of-jim")), "Unauthorized")
}

func TestBootstrapTokens(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	start := func(flags ...string) *fakecluster.Cluster {
		return fakecluster.Start(t, fakecluster.WithAPIServerFlags(flags...), fakecluster.WithClock(func() time.Time { return now }), fakecluster.WithObjects(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-abcdef"}, Type: "bootstrap.kubernetes.io/token",
			StringData: map[string]string{
				"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
				"auth-extra-groups": "system:bootstrappers:workers", "expiration": "2030-01-02T00:00:00Z",
			},
		}))
	}
	as := func(c *fakecluster.Cluster, token string) string {
		return whoIs(t, &clientrest.Config{Host: c.URL(), BearerToken: token})
	}
	c := start("--enable-bootstrap-token-auth")
	const token = "abcdef.0123456789abcdef"
	expectText(t, "the token of a Secret", as(c, token), "system:bootstrap:abcdef  [system:bootstrappers system:bootstrappers:workers system:authenticated]")
	expectText(t, "another secret", as(c, "abcdef.0000000000000000"), "Unauthorized")
	expectText(t, "another id", as(c, "aaaaaa.0123456789abcdef"), "Unauthorized")
	expectText(t, "without the flag", as(start(), token), "Unauthorized")
	now = now.Add(25 * time.Hour)
	expectText(t, "after its time", as(c, token), "Unauthorized")
}

func TestFrontProxies(t *testing.T) {
	folder := t.TempDir()
	authority, err := authentication.NewAuthority("proxies")
	if err != nil {
		t.Fatal(err)
	}
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags(
		"--requestheader-client-ca-file="+put(t, folder, "ca.crt", string(authority.PEM())), "--requestheader-allowed-names=front",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group"))
	as := func(proxy string) string {
		cfg := anyone(c)
		if cfg.CertData, cfg.KeyData, err = authority.ClientCertificate(proxy); err != nil {
			t.Fatal(err)
		}
		cfg.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				req = req.Clone(req.Context())
				req.Header.Set("X-Remote-User", "joe")
				req.Header.Set("X-Remote-Group", "dev")
				return next.RoundTrip(req)
			})
		}
		return whoIs(t, cfg)
	}
	expectText(t, "a proxy that may say who asks", as("front"), "joe  [dev system:authenticated]")
	expectText(t, "one with another name", as("back"), "Unauthorized")
}

// Servers of aggregated APIs read in a ConfigMap whom the cluster believes.
func TestClientCAsArePublished(t *testing.T) {
	folder := t.TempDir()
	var text [3]string
	for i := range text {
		authority, err := authentication.NewAuthority("suite")
		if err != nil {
			t.Fatal(err)
		}
		text[i] = string(authority.PEM())
	}
	clients, proxies, others := text[0], text[1], text[2]
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags(
		"--client-ca-file="+put(t, folder, "ca.crt", clients),
		"--requestheader-client-ca-file="+put(t, folder, "proxies.crt", proxies), "--requestheader-allowed-names=front",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group"))
	maps := clientOf(t, c.RESTConfig()).CoreV1().ConfigMaps(metav1.NamespaceSystem)
	const name = "extension-apiserver-authentication"
	want := map[string]string{
		"client-ca-file":                     clients,
		"requestheader-client-ca-file":       proxies,
		"requestheader-allowed-names":        `["front"]`,
		"requestheader-username-headers":     `["X-Remote-User"]`,
		"requestheader-group-headers":        `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": `[]`,
	}
	published := func() map[string]string {
		t.Helper()
		return made[*corev1.ConfigMap](t)(maps.Get(t.Context(), name, metav1.GetOptions{})).Data
	}
	equal(t, "published", fmt.Sprint(published()), fmt.Sprint(want))

	if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "published again", fmt.Sprint(published()), fmt.Sprint(want))

	// What other servers have published stays.
	patch := fmt.Sprintf(`{"data":{"mine":"gone","client-ca-file":%q,"requestheader-allowed-names":"[\"back\",\"front\"]"}}`, others)
	made[*corev1.ConfigMap](t)(maps.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))
	want["client-ca-file"], want["requestheader-allowed-names"] = others+clients, `["back","front"]`
	equal(t, "combined", fmt.Sprint(published()), fmt.Sprint(want))
}

// Authorities change while a cluster runs: a new file takes effect at the next request.
func TestAuthoritiesAreReadAgain(t *testing.T) {
	folder := t.TempDir()
	var by [4]*authentication.Authority
	for i, name := range []string{"clients", "proxies", "new-clients", "new-proxies"} {
		var err error
		if by[i], err = authentication.NewAuthority(name); err != nil {
			t.Fatal(err)
		}
	}
	clients, proxies, newClients, newProxies := by[0], by[1], by[2], by[3]
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags(
		"--client-ca-file="+put(t, folder, "ca.crt", string(clients.PEM())),
		"--requestheader-client-ca-file="+put(t, folder, "proxies.crt", string(proxies.PEM())),
		"--requestheader-username-headers=X-Remote-User"))
	fork := c.Fork(t)
	config := func(authority *authentication.Authority) func(*fakecluster.Cluster) *clientrest.Config {
		certificate, key, err := authority.ClientCertificate("jane")
		if err != nil {
			t.Fatal(err)
		}
		return func(c *fakecluster.Cluster) *clientrest.Config {
			cfg := anyone(c)
			cfg.CertData, cfg.KeyData = certificate, key
			return cfg
		}
	}
	byClients, byNewClients, byNewProxies := config(clients), config(newClients), config(newProxies)
	const jane, unknown = "jane  [system:authenticated]", "Unauthorized"
	check := func(what string, cfg func(*fakecluster.Cluster) *clientrest.Config, want string) {
		t.Helper()
		expectText(t, what, whoIs(t, cfg(c)), want)
		expectText(t, what+", in a fork", whoIs(t, cfg(fork)), want)
	}
	check("a user at first", byClients, jane)
	check("one of the new authority", byNewClients, unknown)

	put(t, folder, "ca.crt", string(newClients.PEM()))
	check("a user whose authority is gone, on an open connection", byClients, unknown)
	check("one of the new authority", byNewClients, jane)

	if err := os.Remove(filepath.Join(folder, "proxies.crt")); err != nil {
		t.Fatal(err)
	}
	put(t, folder, "proxies.crt", string(newProxies.PEM()))
	check("a user whom a proxy names", func(c *fakecluster.Cluster) *clientrest.Config {
		cfg := byNewProxies(c)
		cfg.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				req = req.Clone(req.Context())
				req.Header.Set("X-Remote-User", "joe")
				return next.RoundTrip(req)
			})
		}
		return cfg
	}, "joe  [system:authenticated]")

	names, err := certutil.GetClientCANamesForURL(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range made[[]*x509.Certificate](t)(certutil.ParseCertsPEM(append(newClients.PEM(), newProxies.PEM()...))) {
		want = append(want, string(c.RawSubject))
	}
	equal(t, "authorities that a handshake names", names, want)

	put(t, folder, "ca.crt", "half of a certificate")
	check("a file without authorities changes nothing", byNewClients, jane)
	if err := os.Remove(filepath.Join(folder, "ca.crt")); err != nil {
		t.Fatal(err)
	}
	check("nor does one that is gone", byNewClients, jane)

	put(t, folder, "ca.crt", string(clients.PEM()))
	for what, c := range map[string]*fakecluster.Cluster{"published": c, "published in a fork": fork} {
		info := made[*corev1.ConfigMap](t)(clientOf(t, c.RESTConfig()).CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{}))
		expectText(t, what, info.Data["client-ca-file"], string(clients.PEM())+string(newClients.PEM()))
		expectText(t, what, info.Data["requestheader-client-ca-file"], string(proxies.PEM())+string(newProxies.PEM()))
	}
}

// Without these flags the ConfigMap is empty, and it is there.
func TestOtherCAsAreRefused(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	maps := clientOf(t, c.RESTConfig()).CoreV1().ConfigMaps(metav1.NamespaceSystem)
	if err := maps.Delete(t.Context(), "extension-apiserver-authentication", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := made[*corev1.ConfigMap](t)(maps.Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{}))
	equal(t, "data", len(again.Data), 0)
}

// roundTrip is a function that is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Anonymous requests may read the health of a cluster, unless a flag turns them off.
func TestAnonymousRequestsAreRefused(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  int
	}{
		{[]string{"--authorization-mode=AlwaysAllow"}, http.StatusOK},
		{[]string{"--anonymous-auth=true"}, http.StatusOK},
		{[]string{"--anonymous-auth=true", "--authorization-mode=AlwaysAllow"}, http.StatusUnauthorized},
		{[]string{"--anonymous-auth=false"}, http.StatusUnauthorized},
		{[]string{"--authentication-config=" + put(t, t.TempDir(), "config", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: {enabled: false}\n")}, http.StatusUnauthorized},
	} {
		for _, path := range []string{"/healthz", "/livez", "/readyz"} {
			res, err := http.Get(fakecluster.Start(t, fakecluster.WithAPIServerFlags(c.flags...)).URL() + path)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != c.want {
				t.Errorf("%q: %s is answered with %d, want %d", c.flags, path, res.StatusCode, c.want)
			}
		}
	}
}
