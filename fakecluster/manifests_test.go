package fakecluster_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestWithManifestsInstallsInTheOrderThatIsNeeded(t *testing.T) {
	folder(t, map[string]string{
		// Each needs one that comes later, and the webhook would refuse all others.
		"all/a.yaml": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: nobody}
webhooks:
- {name: no.example.com, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: "https://127.0.0.1:1/"},
   rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE], resources: ["*"]}]}
---
{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: a, namespace: jobs}, spec: {cronSpec: "* * * * *", image: i, replicas: 1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: jobs}, status: {phase: Running}, spec: {priorityClassName: high, containers: [{name: c, image: i}]}}
`,
		"all/b.json": `{"apiVersion": "v1", "kind": "List", "items": [
			{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "jobs"}},
			{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}]},
			{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "jobs"}}]}`,
		"all/z.yaml": cronTabManifest,
		"crd.yaml":   "{apiVersion: v1, kind: ConfigMap, metadata: {name: bystander}}\n---\n" + cronTabManifest,
	})
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithManifests("all"))
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	pod, err := client.CoreV1().Pods("jobs").Get(t.Context(), "a", metav1.GetOptions{})
	must(t, err)
	equal(t, "the pod", fmt.Sprint(*pod.Spec.Priority, pod.Status.Phase), "7Pending")
	_, err = client.CoreV1().ConfigMaps("jobs").Get(t.Context(), "a", metav1.GetOptions{})
	must(t, err)
	_, err = c.Dynamic().Resource(cronTabs).Namespace("jobs").Get(t.Context(), "a", metav1.GetOptions{})
	must(t, err)
	hooks, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	equal(t, "webhooks", len(hooks.Items), 1)

	// WithCRDPaths ignores other kinds than definitions.
	c = fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths("crd.yaml"))
	list(t, c.Dynamic().Resource(cronTabs))
	bystanders, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=bystander"})
	must(t, err)
	equal(t, "bystanders", len(bystanders.Items), 0)
}

// Each option brings what one before it needs, and a policy that would refuse all others.
func TestTheOrderOfOptionsDoesNotMatter(t *testing.T) {
	folder(t, map[string]string{
		"rbac.yaml": "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a, namespace: system}, rules: []}\n",
		"crd.yaml":  cronTabManifest,
		"policy.yaml": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: nobody}
spec:
  matchConstraints: {resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE], resources: ["*"]}]}
  validations: [{expression: "false"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: nobody}
spec: {policyName: nobody, validationActions: [Deny]}
`,
	})
	options := []fakecluster.Option{
		fakecluster.WithManifests("policy.yaml", "rbac.yaml"),
		fakecluster.WithObjects(cronTab("a"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "a"}}),
		fakecluster.WithManifests("crd.yaml"),
		fakecluster.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system"}}),
	}
	for range 2 {
		c := fakecluster.Start(t, append(options, fakecluster.InProcess())...)
		client := kubernetes.NewForConfigOrDie(c.RESTConfig())
		_, err := client.RbacV1().Roles("system").Get(t.Context(), "a", metav1.GetOptions{})
		must(t, err)
		_, err = client.CoreV1().ConfigMaps("system").Get(t.Context(), "a", metav1.GetOptions{})
		must(t, err)
		equal(t, "custom objects", len(list(t, c.Dynamic().Resource(cronTabs)).Items), 1)
		slices.Reverse(options)
	}
}

// A folder may have files for other programs. A file that a test names has to be a manifest.
func TestFoldersMayHaveDocumentsThatAreNotObjects(t *testing.T) {
	folder(t, map[string]string{
		"all/a.yaml":     "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
		"all/crd.yaml":   cronTabManifest,
		"all/patch.yaml": "- {op: add, path: /spec/a, value: 1}\n",
		"all/names.yaml": "nameReference: [{kind: Service}]\n",
	})
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithManifests("all"))
	_, err := c.Clientset().CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
	must(t, err)
	fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths("all"))
	equal(t, "no apiVersion", refused(t, fakecluster.InProcess(), fakecluster.WithManifests("all/names.yaml")), "all/names.yaml: document 1: not an object: it needs apiVersion and kind")
	equal(t, "a patch", refused(t, fakecluster.InProcess(), fakecluster.WithManifests("all/patch.yaml")), "all/patch.yaml: document 1: not an object: it is not a mapping")
}

func TestWithManifestsNamesWhatItCannotInstall(t *testing.T) {
	folder(t, map[string]string{
		"lost.yaml":    "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: nowhere}}\n",
		"unknown.yaml": "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}\n",
		"list.yaml":    "{apiVersion: v1, kind: List, items: [7]}\n",
		"empty/a.txt":  "",

		"overlay/kustomization.yaml": "resources: [a.yaml, ../base]\n",
		"overlay/a.yaml":             "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
	})
	for path, want := range map[string]string{
		"lost.yaml":    `manifest path lost.yaml: ConfigMap "a": namespaces "nowhere" not found`,
		"unknown.yaml": `manifest path unknown.yaml: Thing "a": no matches for kind "Thing" in version "example.com/v1"`,
		"list.yaml":    `list.yaml: document 1: json: cannot unmarshal number into Go value of type v1.PartialObjectMetadata`,
		"overlay":      `manifest path overlay: its kustomization needs ../base, which is not in the folder: write fakecluster.WithObjects(kustomize.Objects(t, "overlay")...), or --kustomize overlay`,
		"empty":        `manifest path empty: there is no manifest in it`,
		"missing":      `manifest path: stat missing: no such file or directory`,
		"":             `manifest path: stat : no such file or directory`,
	} {
		equal(t, path, refused(t, fakecluster.InProcess(), fakecluster.WithManifests(path)), want)
	}
}

func TestWithPortSelectsThePort(t *testing.T) {
	equal(t, "in process", refused(t, fakecluster.InProcess(), fakecluster.WithPort(1234)), "InProcess and WithPort exclude each other: without a socket there is no port")
	equal(t, "no port", refused(t, fakecluster.WithPort(0)), "WithPort: 0 is not a port; write one from 1 to 65535, or leave the option out for any free port")
	equal(t, "twice", refused(t, fakecluster.WithPort(1), fakecluster.WithPort(2)), "WithPort is given 2 times; give it once")
	equal(t, "a flag", refused(t, fakecluster.WithPort(1234), fakecluster.WithAPIServerFlags("--secure-port=1234")),
		"WithPort and the flags --secure-port and --bind-address of WithAPIServerFlags exclude each other; give one of them")
}
