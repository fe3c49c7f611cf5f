package fakecluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// configured writes a file for --admission-control-config-file, and returns the flag.
func configured(t *testing.T, plugin, configuration string) string {
	t.Helper()
	indented := "    " + strings.ReplaceAll(strings.TrimSpace(configuration), "\n", "\n    ")
	return "--admission-control-config-file=" + put(t, t.TempDir(), "admission.yaml", `
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: `+plugin+`
  configuration:
`+indented+"\n")
}

// createPod creates a pod and returns the text of the error.
func createPod(t *testing.T, c *fakecluster.Cluster, name string, alter func(*corev1.Pod)) string {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if alter != nil {
		alter(pod)
	}
	if _, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		return err.Error()
	}
	return ""
}

func TestPodSecurityOfTheWholeCluster(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags(configured(t, "PodSecurity", `
apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: baseline}
`)))
	expectText(t, "an ordinary pod", createPod(t, c, "a", nil), "")
	expectText(t, "one on the network of its host", createPod(t, c, "b", func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
		`pods "b" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`)
}

func TestResourcesThatAreLimitedByDefault(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags(configured(t, "ResourceQuota", `
apiVersion: apiserver.config.k8s.io/v1
kind: ResourceQuotaConfiguration
limitedResources: [{resource: pods, matchContains: [count/pods]}]
`)))
	expectText(t, "without a quota", createPod(t, c, "a", nil), `pods "a" is forbidden: insufficient quota to consume: count/pods`)
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/pods": resource.MustParse("1")}}}
	if _, err := client.CoreV1().ResourceQuotas("default").Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expectText(t, "within a quota", createPod(t, c, "a", nil), "")
	expectText(t, "beyond it", createPod(t, c, "b", nil), `pods "b" is forbidden: exceeded quota: q, requested: count/pods=1, used: count/pods=1, limited: count/pods=1`)
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("another resource: %v", err)
	}
}

func TestEventRateLimit(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--enable-admission-plugins=EventRateLimit", configured(t, "EventRateLimit", `
apiVersion: eventratelimit.admission.k8s.io/v1alpha1
kind: Configuration
limits: [{type: Namespace, qps: 1, burst: 2, cacheSize: 10}]
`)))
	config := c.RESTConfig()
	create := func(namespace string) string {
		reference := corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "a"}
		event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{GenerateName: "e"}, InvolvedObject: reference}
		err := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Post().Namespace(namespace).Resource("events").MaxRetries(0).Body(event).Do(t.Context()).Error()
		if err != nil {
			return err.Error()
		}
		return ""
	}
	got := []string{create("default"), create("default"), create("default"), create("kube-system")}
	if want := []string{"", "", "Too many requests: limit reached on type Namespace for key default", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestImagePolicyWebhook(t *testing.T) {
	reviewer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review map[string]any
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		containers := review["spec"].(map[string]any)["containers"].([]any)
		good := containers[0].(map[string]any)["image"] == "good"
		review["status"] = map[string]any{"allowed": good, "reason": "the image is bad"}
		_ = json.NewEncoder(w).Encode(review)
	}))
	defer reviewer.Close()
	kubeconfig := put(t, t.TempDir(), "kubeconfig", `
apiVersion: v1
kind: Config
clusters: [{name: reviewer, cluster: {server: "`+reviewer.URL+`"}}]
users: [{name: reviewer, user: {}}]
contexts: [{name: reviewer, context: {cluster: reviewer, user: reviewer}}]
current-context: reviewer
`)
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--enable-admission-plugins=ImagePolicyWebhook",
		configured(t, "ImagePolicyWebhook", `
imagePolicy: {kubeConfigFile: "`+kubeconfig+`", allowTTL: 50, denyTTL: 50, retryBackoff: 1, defaultAllow: false}
`)))
	expectText(t, "a good image", createPod(t, c, "a", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "good" }), "")
	expectText(t, "a bad image", createPod(t, c, "b", nil), `pods "b" is forbidden: image policy webhook backend denied one or more images: the image is bad`)
}

// Webhooks are called with the credentials of the user whose name fits the host best.
func TestCredentialsForWebhooks(t *testing.T) {
	var mu sync.Mutex
	var saw []string
	hook := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		saw = append(saw, req.URL.Path+" "+req.Header.Get("Authorization"))
		mu.Unlock()
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		_ = json.NewEncoder(w).Encode(review)
	})
	kubeconfig := put(t, t.TempDir(), "kubeconfig", `
apiVersion: v1
kind: Config
users:
- {name: "one.hooks.svc", user: {token: of-one}}
- {name: "*.svc", user: {token: of-any-service}}
- {name: "*", user: {token: of-all}}
`)
	side := admissionregistrationv1.SideEffectClassNone
	pods := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"CREATE"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
	}}
	c := fakecluster.Start(t, fakecluster.InProcess(),
		fakecluster.WithAPIServerFlags(configured(t, "ValidatingAdmissionWebhook", `
apiVersion: apiserver.config.k8s.io/v1
kind: WebhookAdmissionConfiguration
kubeConfigFile: `+kubeconfig+`
`)),
		fakecluster.WithService("hooks", "one", 443, hook), fakecluster.WithService("hooks", "two", 443, hook))
	to := func(name, path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "hooks", Name: name, Path: &path}, CABundle: c.CABundle(),
		}
	}
	client := kubernetes.NewForConfigOrDie(c.RESTConfig()).AdmissionregistrationV1()
	_, err := client.ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "v"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{Name: "one.example.com", ClientConfig: to("one", "/one"), Rules: pods, SideEffects: &side, AdmissionReviewVersions: []string{"v1"}},
			{Name: "two.example.com", ClientConfig: to("two", "/two"), Rules: pods, SideEffects: &side, AdmissionReviewVersions: []string{"v1"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "m"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{
			{Name: "one.example.com", ClientConfig: to("one", "/mutating"), Rules: pods, SideEffects: &side, AdmissionReviewVersions: []string{"v1"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expectText(t, "a pod", createPod(t, c, "a", nil), "")
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(saw)
	if want := []string{"/mutating ", "/one Bearer of-one", "/two Bearer of-any-service"}; !slices.Equal(saw, want) {
		t.Errorf("got %q, want %q", saw, want)
	}
}

func TestAdmissionConfigurationsThatAreRefused(t *testing.T) {
	folder := t.TempDir()
	missing := folder + "/missing"
	for _, c := range []struct{ rule, flag, plugin, err string }{
		{"a missing file", "--admission-control-config-file=" + missing, "",
			fmt.Sprintf("failed to read plugin config: unable to read admission control configuration from %q [open %s: no such file or directory]", missing, missing)},
		{"an unknown level", configured(t, "PodSecurity", "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\ndefaults: {enforce: strict}"), "",
			`failed to initialize admission plugin "PodSecurity": PodSecurity configuration error: enforce: must be one of privileged, baseline, restricted`},
		{"no absolute path", configured(t, "MutatingAdmissionWebhook", "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\nkubeConfigFile: here"), "",
			`couldn't init admission plugin "MutatingAdmissionWebhook": kubeConfigFile: Invalid value: "here": must be an absolute file path`},
		{"a missing kubeconfig", configured(t, "MutatingAdmissionWebhook", "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\nkubeConfigFile: "+missing), "",
			`couldn't init admission plugin "MutatingAdmissionWebhook": stat ` + missing + `: no such file or directory`},
		{"manifests of webhooks", configured(t, "ValidatingAdmissionWebhook", "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\nstaticManifestsDir: "+folder), "",
			`couldn't init admission plugin "ValidatingAdmissionWebhook": fakecluster does not support staticManifestsDir (` + folder + `): create the objects in the cluster instead`},
		{"manifests of policies", configured(t, "ValidatingAdmissionPolicy", "apiVersion: apiserver.config.k8s.io/v1\nkind: ValidatingAdmissionPolicyConfiguration\nstaticManifestsDir: "+folder), "",
			`couldn't init admission plugin "ValidatingAdmissionPolicy": fakecluster does not support staticManifestsDir (` + folder + `): create the objects in the cluster instead`},
		{"a plugin that needs a configuration", "", "ImagePolicyWebhook", `couldn't init admission plugin "ImagePolicyWebhook": no config specified`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var flags []string
			if c.flag != "" {
				flags = append(flags, c.flag)
			}
			if c.plugin != "" {
				flags = append(flags, "--enable-admission-plugins="+c.plugin)
			}
			cluster, err := fakecluster.New(fakecluster.InProcess(), fakecluster.WithAPIServerFlags(flags...))
			if err == nil {
				cluster.Close()
				t.Fatal("it is accepted")
			}
			expectText(t, "the error", strings.TrimPrefix(err.Error(), "starting the server: "), c.err)
		})
	}
}
