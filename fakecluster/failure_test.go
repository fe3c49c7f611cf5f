package fakecluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
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
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/klog/v2"

	"github.com/go-logr/logr"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// failing is a test that fails, and whose log can be read. end does what the end of a test does.
type failing struct {
	testing.TB
	failed   bool
	lines    []string
	cleanups []func()
}

func (f *failing) Log(args ...any)                 { f.lines = append(f.lines, fmt.Sprint(args...)) }
func (f *failing) Logf(format string, args ...any) { f.Log(fmt.Sprintf(format, args...)) }
func (f *failing) Failed() bool                    { return f.failed }
func (f *failing) Cleanup(do func())               { f.cleanups = append(f.cleanups, do) }
func (f *failing) Errorf(string, ...any)           { f.failed = true }

func (f *failing) end() string {
	for len(f.cleanups) > 0 {
		last := f.cleanups[len(f.cleanups)-1]
		f.cleanups = f.cleanups[:len(f.cleanups)-1]
		last()
	}
	return strings.Join(f.lines, "\n")
}

// mistaken is an operator as beginners write it. It keeps a ConfigMap for each CronTab, and makes five
// mistakes:
//
//   - Its Role does not allow it to create its Secrets.
//   - It writes a counter into the status each time, and each such write wakes it again.
//   - It owns ConfigMaps, and does not watch them.
//   - It updates the CronTab from a copy that it has read before writing to it.
//   - Its webhook is configured for a version that no client uses.
type mistaken struct {
	t       *testing.T
	crons   dynamic.ResourceInterface
	client  kubernetes.Interface
	handled int
}

func (o *mistaken) run(ctx context.Context) {
	w, err := o.crons.Watch(ctx, metav1.ListOptions{})
	must(o.t, err)
	defer w.Stop()
	for event := range w.ResultChan() {
		if obj, ok := event.Object.(*unstructured.Unstructured); ok && o.handled < 50 { // a real one never ends
			o.reconcile(ctx, obj)
		}
	}
}

func (o *mistaken) reconcile(ctx context.Context, cron *unstructured.Unstructured) {
	o.handled++
	yes := true
	owned := metav1.ObjectMeta{Name: cron.GetName(), OwnerReferences: []metav1.OwnerReference{{
		APIVersion: cron.GetAPIVersion(), Kind: cron.GetKind(), Name: cron.GetName(), UID: cron.GetUID(), Controller: &yes,
	}}}
	if _, err := o.client.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: owned}, metav1.CreateOptions{}); err == nil {
		o.t.Error("its role allows it")
	}
	_, err := o.client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: owned}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		o.t.Error(err)
	}
	before := cron.DeepCopy()
	_ = unstructured.SetNestedField(cron.Object, fmt.Sprint("image-", o.handled), "spec", "image") // the kind has no status
	if _, err := o.crons.Update(ctx, cron, metav1.UpdateOptions{}); err != nil {
		o.t.Error(err)
	}
	if o.handled == 1 {
		before.SetFinalizers([]string{"example.com/late"})
		if _, err := o.crons.Update(ctx, before, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			o.t.Error(err)
		}
	}
}

// ofOperator are the role of the mistaken operator, and its webhook.
func ofOperator(url string, bundle []byte) (*rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding, *admissionregistrationv1.ValidatingWebhookConfiguration) {
	none := admissionregistrationv1.SideEffectClassNone
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cron-operator"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"stable.example.com"}, Resources: []string{"crontabs"}, Verbs: []string{"get", "list", "watch", "update"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "cron-operator"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cron-operator"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "operator"}}}
	hook := func(name, version string) admissionregistrationv1.ValidatingWebhook {
		return admissionregistrationv1.ValidatingWebhook{
			Name: name, ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new(url + "/validate"), CABundle: bundle},
			SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, FailurePolicy: new(admissionregistrationv1.Ignore),
			MatchPolicy: new(admissionregistrationv1.Exact),
			Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{"CREATE"},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{"stable.example.com"}, APIVersions: []string{version}, Resources: []string{"crontabs"}}}},
		}
	}
	return role, binding, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "checks"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{hook("v1.example.com", "v1"), hook("beta.example.com", "v1beta1")}}
}

// allowing is a webhook that allows what it does not panic over.
func allowing(w http.ResponseWriter, req *http.Request) {
	var review admissionv1.AdmissionReview
	_ = json.NewDecoder(req.Body).Decode(&review)
	if review.Request.Name == "poison" {
		panic("no handler for " + review.Request.Name)
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func TestTheLogOfAFailedTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &failing{TB: t}
		c := fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()),
			fakecluster.WithService("default", "hook", 443, http.HandlerFunc(allowing)))
		role, binding, hooks := ofOperator(c.ServiceURL("default", "hook", 443), c.CABundle())
		admin := c.RESTConfig()
		admin.UserAgent = "cron.test"
		client := kubernetes.NewForConfigOrDie(admin)
		_, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
		must(t, err)
		_, err = client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
		must(t, err)
		_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), hooks, metav1.CreateOptions{})
		must(t, err)

		cfg := c.ConfigFor("operator")
		cfg.UserAgent = "cron-operator/v0.0.1"
		ctx, stop := context.WithCancel(t.Context())
		operator := &mistaken{t: t, crons: cronsOf(cfg), client: kubernetes.NewForConfigOrDie(cfg)}
		done := make(chan struct{})
		go func() { defer close(done); operator.run(ctx) }()
		synctest.Wait()
		create(t, cronsOf(admin), cronTab("nightly"))
		synctest.Wait()
		time.Sleep(time.Minute)
		create(t, cronsOf(admin), cronTab("poison"))
		kept := cronTab("kept")
		kept.SetFinalizers([]string{"example.com/release"})
		create(t, cronsOf(admin), kept)
		must(t, cronsOf(admin).Delete(t.Context(), "kept", metav1.DeleteOptions{}))
		reconciled := make(chan struct{})
		go func() {
			defer close(reconciled)
			defer func() { _ = recover() }() // as controller-runtime does
			defer utilruntime.HandleCrashWithContext(klog.NewContext(t.Context(), logr.Discard()))
			reconcileNothing(nil)
		}()
		<-reconciled
		synctest.Wait()
		tb.failed = true // the condition never came
		stop()
		<-done

		golden(t, "testdata/failure.txt", regexp.MustCompile(`(_test\.go:|resourceVersion |the object had )\d+`).ReplaceAllString(tb.end(), "${1}N"))
	})
}

// reconcileNothing is a Reconciler that does not expect to find nothing.
func reconcileNothing(obj *unstructured.Unstructured) { _ = obj.Object["spec"] }

func cronsOf(cfg *clientrest.Config) dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(cfg).Resource(cronTabs).Namespace("default")
}

// A definition that is not installed is a mistake that every beginner makes.
func TestAFailedTestLogsWhatIsNotServed(t *testing.T) {
	tb := &failing{TB: t, failed: true}
	c := fakecluster.Start(tb, fakecluster.InProcess())
	cfg := c.RESTConfig()
	cfg.UserAgent = "cron.test"
	_, err := cronsOf(cfg).List(t.Context(), metav1.ListOptions{})
	equal(t, "refused", apierrors.IsNotFound(err), true)
	_, err = as(c, c.ConfigFor("jane"), "refused").Watch(t.Context(), metav1.ListOptions{})
	equal(t, "refused", apierrors.IsForbidden(err), true)
	log := tb.end()
	if want := "refused (jane): 1 watch crontabs.stable.example.com\n"; !strings.Contains(log+"\n", want) {
		t.Errorf("a watch that was refused is none: %s", log)
	}
	if want := "cron.test list crontabs.stable.example.com in default: 404: the cluster does not serve /apis/stable.example.com/v1/namespaces/default/crontabs: give the definition to fakecluster.WithCRDPaths, or to remote.CRDPaths"; !strings.Contains(log, want) {
		t.Error(log)
	}
}

// A client whose mapper does not find a kind asks for nothing else. Its error does not reach the cluster.
func TestAFailedTestLogsClientsThatFindNoKind(t *testing.T) {
	tb := &failing{TB: t, failed: true}
	c := fakecluster.Start(tb, fakecluster.InProcess())
	groups, err := restmapper.GetAPIGroupResources(c.Clientset().Discovery())
	must(t, err)
	_, err = restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(schema.GroupKind{Group: "stable.example.com", Kind: "CronTab"}, "v1")
	fails(t, "the mapper", err, `no matches for kind "CronTab" in version "stable.example.com/v1"`)
	if want, log := `requests for no resource; if it reports "no matches for kind", give the definition to fakecluster.WithCRDPaths, or to remote.CRDPaths`, tb.end(); !strings.Contains(log, want) {
		t.Error(log)
	}
}

// A version that is not served is named with those that are.
func TestAFailedTestLogsServedVersions(t *testing.T) {
	tb := &failing{TB: t, failed: true}
	c := fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.WithCRDPaths("testdata/crd"))
	_, err := c.Clientset().Discovery().ServerResourcesForGroupVersion("stable.example.com/v3")
	equal(t, "refused", apierrors.IsNotFound(err), true)
	if want, log := "404: the cluster does not serve /apis/stable.example.com/v3: it serves stable.example.com in v1", tb.end(); !strings.Contains(log, want) {
		t.Error(log)
	}
}

func TestAPassedTestLogsNothing(t *testing.T) {
	tb := &failing{TB: t}
	c := fakecluster.Start(tb, fakecluster.InProcess())
	_, err := cronsOf(c.RESTConfig()).Get(t.Context(), "a", metav1.GetOptions{})
	equal(t, "refused", apierrors.IsNotFound(err), true)
	equal(t, "the log", tb.end(), "")
}

func TestAFailedTestWithoutRequestsLogsNothing(t *testing.T) {
	tb := &failing{TB: t, failed: true}
	fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
	equal(t, "the log", tb.end(), "")
}

// However much has happened, the log of a test stays readable.
func TestTheLogOfAFailedTestIsShort(t *testing.T) {
	tb := &failing{TB: t, failed: true}
	c := fakecluster.Start(tb, fakecluster.InProcess())
	for i := range 100 {
		cfg := c.ConfigFor(fmt.Sprint("user-", i))
		cfg.UserAgent = fmt.Sprint("program-", i)
		_, err := dynamic.NewForConfigOrDie(cfg).Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace("default").
			Get(t.Context(), strings.Repeat("x", 200), metav1.GetOptions{})
		equal(t, "refused", apierrors.IsForbidden(err), true)
	}
	log := tb.end()
	lines := strings.Split(log, "\n")
	if len(lines) > 60 || len(lines) < 15 {
		t.Errorf("%d lines:\n%s", len(lines), log)
	}
	for _, line := range lines {
		if len(line) > 420 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
	if !strings.Contains(log, "… and ") || !strings.Contains(lines[2], "program-99 get secrets default/x") {
		t.Error(log)
	}
}

// What a controller recovers from belongs to the clusters of its time: those in its bubble, or those
// outside of bubbles.
func TestPanicsAreLoggedByTheClustersOfTheirTime(t *testing.T) {
	panics := func() {
		defer func() { _ = recover() }()
		defer utilruntime.HandleCrashWithContext(klog.NewContext(t.Context(), logr.Discard()))
		reconcileNothing(nil)
	}
	started := func() *failing {
		tb := &failing{TB: t, failed: true}
		_, err := cronsOf(fakecluster.Start(tb, fakecluster.InProcess()).RESTConfig()).Get(t.Context(), "a", metav1.GetOptions{})
		equal(t, "refused", apierrors.IsNotFound(err), true)
		return tb
	}
	logged := func(tb *failing) bool { return strings.Contains(tb.end(), "what panicked:") }

	outside := started()
	synctest.Test(t, func(t *testing.T) {
		inside := started()
		panics()
		equal(t, "logged inside", logged(inside), true)
	})
	equal(t, "logged outside", logged(outside), false)

	outside = started()
	synctest.Test(t, func(t *testing.T) {
		inside := started()
		time.Sleep(time.Hour)
		aside := make(chan struct{})
		go func() { defer close(aside); panics() }()
		<-aside
		equal(t, "logged inside, an hour later", logged(inside), true)
	})
	panics()
	equal(t, "logged outside, too", logged(outside), true)

	ended := started()
	log := ended.end()
	panics()
	equal(t, "logged after its end", strings.Contains(log+ended.end(), "what panicked:"), false)
}

// Objects that were deleted and still exist are logged with what they wait for, the newest first. Objects
// that are gone are left out.
func TestAFailedTestLogsObjectsThatWaitForFinalizers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &failing{TB: t, failed: true}
		c := fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.WithControllers())
		client := kubernetes.NewForConfigOrDie(c.RESTConfig())
		named := func(name string, finalizers ...string) metav1.ObjectMeta {
			return metav1.ObjectMeta{Name: name, Finalizers: finalizers}
		}
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: named("old")}, metav1.CreateOptions{})
		must(t, err)
		_, err = client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: named("bound"),
			Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
		must(t, err)
		for _, name := range []string{"held", "freed"} {
			_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named(name, "a.example.com/x", "b.example.com/y")}, metav1.CreateOptions{})
			must(t, err)
		}
		must(t, client.CoreV1().Namespaces().Delete(t.Context(), "old", metav1.DeleteOptions{}))
		time.Sleep(time.Second)
		must(t, client.CoreV1().Pods("default").Delete(t.Context(), "bound", metav1.DeleteOptions{}))
		time.Sleep(time.Second)
		for _, name := range []string{"held", "freed"} {
			must(t, client.CoreV1().ConfigMaps("default").Delete(t.Context(), name, metav1.DeleteOptions{}))
		}
		_, err = client.CoreV1().ConfigMaps("default").Patch(t.Context(), "freed", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		must(t, err)

		_, logged, _ := strings.Cut(tb.end(), "  deleted, but still there:\n")
		logged, _, _ = strings.Cut(logged, "\n  requests by client")
		equal(t, "logged", logged, "    +2s configmaps default/held: its finalizers have not been removed: a.example.com/x, b.example.com/y\n"+
			"    +1s pods default/bound: its grace period has to end: nothing runs here, and a delete with gracePeriodSeconds=0 ends it as a kubelet would\n"+
			"    +0s namespaces old: its finalizers have not been removed: kubernetes")
	})
}
