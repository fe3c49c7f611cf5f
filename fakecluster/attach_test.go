package fakecluster_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestCloseStopsWhatIsAttached(t *testing.T) {
	c, err := fakecluster.New(fakecluster.InProcess())
	if err != nil {
		t.Fatal(err)
	}
	var stopped []string
	attach := func(name string) *fakecluster.Attachment {
		a, err := c.Attach(name, func() { stopped = append(stopped, name) })
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	attach("first")
	attach("detached").Detach()
	attach("last")
	if _, err := c.Attach("last", nil); err == nil || err.Error() != "last run in the cluster already; close them first" {
		t.Errorf("the error of a second one is %v", err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"last", "first"}; !slices.Equal(stopped, want) {
		t.Errorf("stopped are %v, want %v", stopped, want)
	}
	if _, err := c.Attach("later", nil); err == nil || err.Error() != "the cluster is closed" {
		t.Errorf("the error of a closed cluster is %v", err)
	}
}

// TestControllersBeginToActInARunningCluster proves that Act does the work that there was before, also in forks, and that
// admission follows.
func TestControllersBeginToActInARunningCluster(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", Namespace: "default", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "1"}}}}
	create := func(client kubernetes.Interface) {
		t.Helper()
		if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	isGone := func(client kubernetes.Interface) {
		t.Helper()
		if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "owned", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the object without an owner is still there: %v", err)
		}
	}
	create(client)
	a, err := c.Attach("controllers", func() {})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Act("x"); err == nil {
		t.Error("an unknown controller is accepted")
	}
	if a.Acts(fakecluster.GarbageCollector) {
		t.Error("the garbage collector acts before Act")
	}
	if err := a.Act(fakecluster.GarbageCollector, fakecluster.ServiceAccountController); err != nil {
		t.Fatal(err)
	}
	if !a.Acts(fakecluster.GarbageCollector) {
		t.Error("the garbage collector does not act")
	}
	isGone(client)
	for name, cluster := range map[string]*fakecluster.Cluster{"the cluster": c, "a fork": c.Fork(t)} {
		t.Run(name, func(t *testing.T) {
			client := kubernetes.NewForConfigOrDie(cluster.RESTConfig())
			create(client)
			isGone(client)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
			got, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
			if err != nil || got.Spec.ServiceAccountName != "default" {
				t.Errorf("the account of a Pod is %q; %v", got.Spec.ServiceAccountName, err)
			}
		})
	}
}

// TestAnAttachmentServesAService proves that an APIService reaches the handler of an attachment until it detaches, also in
// a cluster with a socket and not in a fork.
func TestAnAttachmentServesAService(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := fakecluster.Start(t, way...)
		a, err := c.Attach("programs", func() {})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Serve("", "x", 443, http.NotFoundHandler()); err == nil {
			t.Error("an impossible service is accepted")
		}
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "example.com/v1", "resources": []}`)
		})
		must(t, a.Serve("default", "x", 443, handler))
		if err := a.Serve("default", "x", 443, handler); err == nil || err.Error() != "x.default.svc:443 already has a handler" {
			t.Errorf("a second handler: %v", err)
		}
		if c.ServiceURL("default", "x", 443) == "" || c.CABundle() == nil {
			t.Error("the service does not have an address or an authority")
		}
		apiServices := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
		_, err = c.Dynamic().Resource(apiServices).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1.example.com"},
			"spec": map[string]any{
				"group": "example.com", "version": "v1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "caBundle": base64.StdEncoding.EncodeToString(c.CABundle()),
				"service": map[string]any{"namespace": "default", "name": "x", "port": int64(443)},
			},
		}}, metav1.CreateOptions{})
		must(t, err)
		ask := func(c *fakecluster.Cluster) error {
			_, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).RESTClient().Get().AbsPath("/apis/example.com/v1").DoRaw(t.Context())
			return err
		}
		if err := ask(c); err != nil {
			t.Error(err)
		}
		if err := ask(c.Fork(t)); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("in a fork: %v", err)
		}
		a.Detach()
		a.Detach()
		if err := ask(c); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("after Detach: %v", err)
		}
		must(t, c.Close())
		if err := a.Serve("default", "x", 443, handler); err == nil || err.Error() != "the cluster is closed" {
			t.Errorf("after Close: %v", err)
		}
	})
}

// What lives in a cluster works without end. The test, its controllers and the functions of the test that run in Pods do not.
func TestOnlyRequestsOfTheTestAreWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		a, err := c.Attach("programs", func() {})
		must(t, err)
		for _, sending := range []struct {
			name             string
			config           *clientrest.Config
			requests, writes int64
		}{
			{"the test", c.RESTConfig(), 2, 1},
			{"a function in a Pod", a.TokenConfig(c.RESTConfig().BearerToken), 2, 1},
			{"a controller of the cluster", a.ServiceAccountConfig("kube-system", "deployment-controller"), 0, 0},
			{"a program of the cluster", a.ConfigFor("system:kube-scheduler"), 0, 0},
		} {
			client := kubernetes.NewForConfigOrDie(sending.config)
			requests, writes := fakecluster.Work(c)
			_, _ = client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}) // it need not be allowed
			_ = client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{})
			moreRequests, moreWrites := fakecluster.Work(c)
			if requests, writes = moreRequests-requests, moreWrites-writes; requests != sending.requests || writes != sending.writes {
				t.Errorf("%s: %d requests and %d writes, want %d and %d", sending.name, requests, writes, sending.requests, sending.writes)
			}
		}
	})
}
