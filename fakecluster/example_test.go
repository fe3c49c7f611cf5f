package fakecluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// start runs the cluster of an example.
func start(opts ...fakecluster.Option) *fakecluster.Cluster {
	c, err := fakecluster.New(opts...)
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// Objects are validated by the schema of their definition, as on a real server.
func Example() {
	c, err := fakecluster.New(fakecluster.WithCRDPaths("testdata/crd"))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	client := dynamic.NewForConfigOrDie(c.RESTConfig()) // or controller-runtime, or any other client
	cronTabs := client.Resource(schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}).Namespace("default")
	_, err = cronTabs.Create(context.Background(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": map[string]any{"name": "a"},
		"spec":     map[string]any{"cronSpec": "* * * * */5", "replicas": "three"},
	}}, metav1.CreateOptions{})
	fmt.Println(err)
	// Output:
	// CronTab.stable.example.com "a" is invalid: spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"
}

// In a test, the cluster ends with the test, and a failure to start fails it.
func ExampleStart() {
	_ = func(t *testing.T) { // func TestMyOperator(t *testing.T)
		c := fakecluster.Start(t, fakecluster.WithCRDPaths("config/crd"))
		client := kubernetes.NewForConfigOrDie(c.RESTConfig())
		if _, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// Outside of tests, the caller closes the cluster.
func ExampleNew() {
	c, err := fakecluster.New()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	namespaces, err := client.CoreV1().Namespaces().List(context.Background(), metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, ns := range namespaces.Items {
		fmt.Println(ns.Name, ns.Status.Phase)
	}
	// Output:
	// default Active
	// kube-node-lease Active
	// kube-public Active
	// kube-system Active
}

// In a bubble of testing/synctest, a watch that ends after an hour ends at once.
func ExampleInProcess() {
	_ = func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := fakecluster.Start(t, fakecluster.InProcess())
			client := kubernetes.NewForConfigOrDie(c.RESTConfig())
			hour := int64(time.Hour / time.Second)
			w, err := client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &hour})
			if err != nil {
				t.Fatal(err)
			}
			for range w.ResultChan() {
			}
		})
	}
}

// A folder is searched for manifests, with the folders in it.
func ExampleWithCRDPaths() {
	c := start(fakecluster.WithCRDPaths("testdata/crd"))
	defer c.Close()

	definitions, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().List(context.Background(), metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range definitions.Items {
		fmt.Println(d.Name, d.Status.Conditions[1].Type, d.Status.Conditions[1].Status)
	}
	// Output:
	// crontabs.stable.example.com Established True
}

// Objects exist from the start. Typed objects need not name their kind.
func ExampleWithObjects() {
	c := start(fakecluster.WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: "team"}, Data: map[string]string{"color": "blue"}},
	))
	defer c.Close()

	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	settings, err := client.CoreV1().ConfigMaps("team").Get(context.Background(), "settings", metav1.GetOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(settings.Data)
	// Output:
	// map[color:blue]
}

// One function labels what is created, another refuses deletes.
func ExampleWithManifests() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	// The namespace comes after what is in it: that does not matter.
	const manifests = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: opening-hours}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
`
	if err := os.WriteFile(filepath.Join(folder, "shop.yaml"), []byte(manifests), 0o600); err != nil {
		log.Fatal(err)
	}
	c, err := fakecluster.New(fakecluster.WithManifests(folder))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	hours, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("shop").Get(context.Background(), "opening-hours", metav1.GetOptions{})
	fmt.Println(hours.Name, err)
	// Output: opening-hours <nil>
}

func ExampleWithMiddleware() {
	var writes atomic.Int32
	c, err := fakecluster.New(fakecluster.WithMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method != http.MethodGet {
				writes.Add(1)
			}
			next.ServeHTTP(w, req)
		})
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	if _, err := configMaps.Create(context.Background(), settings, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(writes.Load())
	// Output: 1
}

// This example is compiled and not run: another program may have its port.
func ExampleWithPort() {
	c, err := fakecluster.New(fakecluster.WithPort(28080))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Println(c.URL()) // http://127.0.0.1:28080
}

func ExampleWithAPIServerFlags() {
	c, err := fakecluster.New(fakecluster.WithAPIServerFlags("--service-cluster-ip-range=10.96.0.0/16"))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	service, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Services("default").Get(context.Background(), "kubernetes", metav1.GetOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(service.Spec.ClusterIP)

	_, err = fakecluster.New(fakecluster.WithAPIServerFlags("--bind-address=0.0.0.0"))
	fmt.Println(err)
	// Output:
	// 10.96.0.1
	// WithAPIServerFlags: fakecluster does not have --bind-address=0.0.0.0: it listens on loopback addresses only
}

func ExampleWithAdmission() {
	c := start(fakecluster.WithAdmission(
		func(_ context.Context, r *fakecluster.AdmissionRequest) error {
			if r.Operation == admissionv1.Create {
				r.Object.SetLabels(map[string]string{"created-by": r.UserInfo.Username})
			}
			return nil
		},
		func(_ context.Context, r *fakecluster.AdmissionRequest) error {
			if r.Kind.Kind == "ConfigMap" && r.Operation == admissionv1.Delete {
				return errors.New("settings stay")
			}
			return nil
		}))
	defer c.Close()

	ctx := context.Background()
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	created, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
	fmt.Println(created.Labels, err)
	fmt.Println(configMaps.Delete(ctx, "settings", metav1.DeleteOptions{}))
	// Output:
	// map[created-by:kubernetes-admin] <nil>
	// configmaps "settings" is forbidden: settings stay
}

// The audit trail has each request with its user and its result.
func ExampleWithAudit() {
	c := start(fakecluster.WithAudit(auditv1.LevelMetadata))
	defer c.Close()

	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	_, err := client.CoreV1().ConfigMaps("default").Get(context.Background(), "missing", metav1.GetOptions{})
	fmt.Println(apierrors.ReasonForError(err))
	for _, e := range c.Audit() {
		if e.Verb == "get" && e.ObjectRef != nil {
			fmt.Println(e.User.Username, e.Verb, e.ObjectRef.Resource, e.ObjectRef.Name, e.ResponseStatus.Code)
		}
	}
	// Output:
	// NotFound
	// kubernetes-admin get configmaps missing 404
}

// Jane may do everything without a Role, as on a server with --authorization-mode=AlwaysAllow.
func ExampleWithAuthorization() {
	c := start(fakecluster.WithAuthorization(fakecluster.AlwaysAllow))
	defer c.Close()

	client := kubernetes.NewForConfigOrDie(c.ConfigFor("jane"))
	roles, err := client.RbacV1().ClusterRoles().List(context.Background(), metav1.ListOptions{Limit: 1})
	fmt.Println(len(roles.Items), err)
	// Output:
	// 1 <nil>
}

// Jane may do what Roles and their bindings allow: at first, little.
func ExampleCluster_ConfigFor() {
	c := start()
	defer c.Close()

	client := kubernetes.NewForConfigOrDie(c.ConfigFor("jane", "dev"))
	_, err := client.CoreV1().Secrets("default").Get(context.Background(), "password", metav1.GetOptions{})
	fmt.Println(err)

	// Everybody in the group dev may do everything in the namespace.
	_, err = kubernetes.NewForConfigOrDie(c.RESTConfig()).RbacV1().RoleBindings("default").Create(context.Background(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "dev"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "dev"}},
	}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.CoreV1().Secrets("default").Get(context.Background(), "password", metav1.GetOptions{})
	fmt.Println(err)
	// Output:
	// secrets "password" is forbidden: User "jane" cannot get resource "secrets" in API group "" in the namespace "default"
	// secrets "password" not found
}

// The operator is allowed everything, and then the cluster lists the rules that it needs. In a test,
// CheckRole compares them with the manifests in config/rbac.
func ExampleCluster_Access() {
	c := start()
	defer c.Close()

	client := kubernetes.NewForConfigOrDie(c.ConfigFor("operator", "system:masters"))
	_, err := client.CoreV1().ConfigMaps("default").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	access := c.Access("operator")
	for _, r := range access.Rules() {
		fmt.Println("it needs", r.APIGroups, r.Resources, r.Verbs)
	}
	fmt.Print(access.Compare(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}))
	// Output:
	// it needs [] [configmaps] [list]
	// missing, as markers for controller-gen:
	// 	// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list
	// missing, as rules of a role:
	// 	- {apiGroups: [""], resources: ["configmaps"], verbs: ["list"]}
	// never used:
	// 	- {apiGroups: [""], resources: ["configmaps"], verbs: ["get"]}
}

// The field hostPort of v1beta1 is host and port in v1. A Go function converts between them.
func ExampleWithConversion() {
	convert := func(_ context.Context, obj *unstructured.Unstructured, apiVersion string) error {
		if apiVersion == "example.com/v1" {
			hostPort, _ := obj.Object["hostPort"].(string)
			obj.Object["host"], obj.Object["port"], _ = strings.Cut(hostPort, ":")
		} else {
			obj.Object["hostPort"] = fmt.Sprint(obj.Object["host"], ":", obj.Object["port"])
		}
		return nil
	}
	c := start(fakecluster.WithCRDPaths("testdata/versions"),
		fakecluster.WithConversion("crontabs.example.com", fakecluster.ConversionFunc(convert)))
	defer c.Close()

	in := func(version string) dynamic.ResourceInterface {
		return c.Dynamic().Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "crontabs"}).Namespace("default")
	}
	ctx := context.Background()
	_, err := in("v1beta1").Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": "a"}, "hostPort": "localhost:1234",
	}}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	a, err := in("v1").Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.GetAPIVersion(), a.Object["host"], a.Object["port"])
	// Output:
	// example.com/v1 localhost 1234
}

// A dependent is gone when the delete of its owner returns.
func ExampleWithControllers_garbageCollection() {
	c := start(fakecluster.WithControllers(fakecluster.NamespaceController, fakecluster.GarbageCollector))
	defer c.Close()

	ctx := context.Background()
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	owner, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "dependent",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
	}}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if err := configMaps.Delete(ctx, "owner", metav1.DeleteOptions{}); err != nil {
		log.Fatal(err)
	}
	_, err = configMaps.Get(ctx, "dependent", metav1.GetOptions{})
	fmt.Println(err)
	// Output:
	// configmaps "dependent" not found
}

// With a short history, a client meets the error 410 that it has to recover from.
func ExampleWithWatchHistory() {
	c := start(fakecluster.WithWatchHistory(5, 0))
	defer c.Close()

	ctx := context.Background()
	configMaps := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().ConfigMaps("default")
	before, err := configMaps.List(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 10 {
		if _, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a", i)}}, metav1.CreateOptions{}); err != nil {
			log.Fatal(err)
		}
	}
	_, err = configMaps.List(ctx, metav1.ListOptions{ResourceVersion: before.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	fmt.Println(err)
	fmt.Println(apierrors.IsResourceExpired(err))
	// Output:
	// The resourceVersion for the provided list is too old.
	// true
}

// A client of an old operator still finds the API that it was written for.
func ExampleWithLegacyAPIs() {
	c := start(fakecluster.WithLegacyAPIs(), fakecluster.WithCRDPaths("testdata/crd"))
	defer c.Close()

	definition, err := c.APIExtensions().ApiextensionsV1beta1().CustomResourceDefinitions().Get(context.Background(), "crontabs.stable.example.com", metav1.GetOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(definition.Spec.Version, definition.Spec.Names.Kind)
	// Output:
	// v1 CronTab
}

// Versions of built-in kinds that are off by default are served as by the flag of
// kube-apiserver.
func ExampleWithRuntimeConfig() {
	c := start(fakecluster.WithRuntimeConfig("resource.k8s.io/v1beta2=true"))
	defer c.Close()

	classes, err := c.Discovery().ServerResourcesForGroupVersion("resource.k8s.io/v1beta2")
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range classes.APIResources {
		fmt.Println(r.Name)
	}
	// Output:
	// deviceclasses
	// devicetaintrules
	// devicetaintrules/status
	// resourceclaims
	// resourceclaims/status
	// resourceclaimtemplates
	// resourceslices
}

// With a seed, uids and generated names are the same in every run.
func ExampleWithSeed() {
	for range 2 {
		c := start(fakecluster.WithSeed(1))
		client := kubernetes.NewForConfigOrDie(c.RESTConfig())
		created, err := client.CoreV1().ConfigMaps("default").Create(context.Background(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "nightly-"}}, metav1.CreateOptions{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(created.Name)
		c.Close()
	}
	// Output:
	// nightly-j5qsz
	// nightly-j5qsz
}

// A webhook refuses ConfigMaps. The cluster reaches its handler by a reference to a service.
func ExampleWithService() {
	refuse := func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "no more settings"}}
		_ = json.NewEncoder(w).Encode(review)
	}
	c := start(fakecluster.WithService("default", "hook", 443, http.HandlerFunc(refuse)))
	defer c.Close()

	ctx := context.Background()
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	none := admissionregistrationv1.SideEffectClassNone
	_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hook"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "hook.example.com",
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             &none,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service:  &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hook"},
				CABundle: c.CABundle(),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
	fmt.Println(err)
	// Output:
	// admission webhook "hook.example.com" denied the request: no more settings
}

func ExampleWithTLS() {
	c := start(fakecluster.WithTLS())
	defer c.Close()

	scheme, _, _ := strings.Cut(c.URL(), ":")
	fmt.Println(scheme)
	version, err := c.Discovery().ServerVersion() // its client trusts the certificate
	fmt.Println(version.Major, version.Minor, err)
	// Output:
	// https
	// 1 37 <nil>
}

// The cluster returns where the webhook server of the manifests has to listen. In a real test
// that is the server of controller-runtime:
//
//	webhook.NewServer(webhook.Options{Host: s.Host, Port: s.Port, CertDir: s.CertDir})
func ExampleWithWebhookPaths() {
	c := start(fakecluster.WithCRDPaths("testdata/crd"), fakecluster.WithWebhookPaths("testdata/webhook"))
	defer c.Close()

	s := c.WebhookServer()
	files, err := os.ReadDir(s.CertDir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Host, s.Port > 0, files[0].Name(), files[1].Name())
	// Output:
	// 127.0.0.1 true tls.crt tls.key
}

// With the plugin a kubelet gets the newest image each time.
func ExampleWithAdmissionPlugins() {
	c := start(fakecluster.WithAdmissionPlugins("AlwaysPullImages"))
	defer c.Close()

	pods := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Pods("default")
	pod, err := pods.Create(context.Background(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:v1"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pod.Spec.Containers[0].ImagePullPolicy)
	// Output: Always
}

// Without the plugin a Pod does not tolerate for five minutes that its node is not ready.
func ExampleWithoutAdmissionPlugins() {
	c := start(fakecluster.WithoutAdmissionPlugins("DefaultTolerationSeconds"))
	defer c.Close()

	pods := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Pods("default")
	pod, err := pods.Create(context.Background(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(pod.Spec.Tolerations), "tolerations")
	// Output: 0 tolerations
}

func ExampleWithoutNamespaceLifecycle() {
	c := start(fakecluster.WithoutNamespaceLifecycle())
	defer c.Close()

	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	created, err := client.CoreV1().ConfigMaps("nowhere").Create(context.Background(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
	fmt.Println(created.Namespace, err)
	// Output:
	// nowhere <nil>
}

// A suite prepares one cluster, and each of its tests changes a copy.
func ExampleCluster_Fork() {
	_ = func(t *testing.T) {
		prepared := fakecluster.Start(t, fakecluster.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}))
		for _, name := range []string{"one case", "another"} {
			t.Run(name, func(t *testing.T) {
				c := prepared.Fork(t)
				client := kubernetes.NewForConfigOrDie(c.RESTConfig())
				err := client.CoreV1().Namespaces().Delete(t.Context(), "team", metav1.DeleteOptions{})
				if err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// Programs in other processes, kubectl for example, read a kubeconfig file.
func ExampleCluster_Kubeconfig() {
	c := start()
	defer c.Close()

	file, err := os.CreateTemp("", "kubeconfig-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(file.Name())
	kubeconfig, err := c.Kubeconfig()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(file.Name(), kubeconfig, 0o600); err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(string(kubeconfig), "server: https://127.0.0.1:"))
	// Output:
	// true
}

// The mapper finds a kind as soon as its definition has been created.
func ExampleCluster_RESTMapper() {
	c := start(fakecluster.WithCRDPaths("testdata/crd"))
	defer c.Close()

	mapping, err := c.RESTMapper().RESTMapping(schema.GroupKind{Group: "stable.example.com", Kind: "CronTab"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mapping.Resource.Resource, mapping.Scope.Name())
	// Output:
	// crontabs namespace
}

// Without controllers a cluster is an API server alone: nothing empties a deleted namespace.
func ExampleWithControllers() {
	c := start(fakecluster.WithControllers())
	defer c.Close()
	namespaces := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Namespaces()
	ctx := context.Background()
	if err := namespaces.Delete(ctx, "kube-node-lease", metav1.DeleteOptions{}); err != nil {
		log.Fatal(err)
	}
	ns, err := namespaces.Get(ctx, "kube-node-lease", metav1.GetOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ns.Status.Phase)
	// Output:
	// Terminating
}

// With an interval, old continue tokens expire as on a real server.
func ExampleWithCompactionInterval() {
	c := start(fakecluster.WithCompactionInterval(5 * time.Minute))
	defer c.Close()

	_, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Namespaces().List(context.Background(), metav1.ListOptions{Limit: 1})
	fmt.Println(err)
	// Output: <nil>
}
