package fakecluster_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// owns is what a line about a change without a reaction says: the log does not know how the controller is built.
const owns = "if such changes should call the controller, check that its builder has .Owns(&appsv1.StatefulSet{}); if it has, the controller found nothing to do"

// A cache watches what a controller reads, also with CreateOrUpdate. Only Owns calls the controller for its events.
func TestAFailedTestLogsOwnedObjectsWhoseChangesAreIgnored(t *testing.T) {
	for _, test := range []struct {
		rule, want string
		// change is what happens to the StatefulSet, and the reaction of the operator.
		change func(t *testing.T, c *fakecluster.Cluster, operator, admin kubernetes.Interface)
	}{
		{"the test sets its status, with the client name of the operator", "+1s operator has created statefulsets.apps for a CronTab, but did not react to 1 change of them by others (the last: default/web by operator) within 5s: " + owns,
			func(t *testing.T, c *fakecluster.Cluster, operator, _ kubernetes.Interface) {
				_, err := operator.AppsV1().StatefulSets("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status":{"replicas":1}}`), metav1.PatchOptions{}, "status")
				must(t, err)
				_, err = operator.AppsV1().StatefulSets("default").Get(t.Context(), "web", metav1.GetOptions{})
				must(t, err)
			}},
		{"another client scales it", "+1s operator has created statefulsets.apps for a CronTab, but did not react to 1 change of them by others (the last: default/web by jane) within 5s: " + owns,
			func(t *testing.T, _ *fakecluster.Cluster, _, admin kubernetes.Interface) {
				_, err := admin.AppsV1().StatefulSets("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
				must(t, err)
			}},
		{"the operator works later, for another reason", "+1s operator has created statefulsets.apps for a CronTab, but did not react to 1 change of them by others (the last: default/web by jane) within 5s: " + owns,
			func(t *testing.T, _ *fakecluster.Cluster, operator, admin kubernetes.Interface) {
				_, err := admin.AppsV1().StatefulSets("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
				must(t, err)
				time.Sleep(time.Minute)
				_, err = operator.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "later"}}, metav1.CreateOptions{})
				must(t, err)
			}},
		{"the operator reacts", "",
			func(t *testing.T, _ *fakecluster.Cluster, operator, admin kubernetes.Interface) {
				_, err := admin.AppsV1().StatefulSets("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
				must(t, err)
				_, err = operator.AppsV1().StatefulSets("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{})
				must(t, err)
			}},
		{"the operator changes it", "",
			func(t *testing.T, _ *fakecluster.Cluster, operator, _ kubernetes.Interface) {
				_, err := operator.AppsV1().StatefulSets("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{})
				must(t, err)
			}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			log := failedOperator(t, func(t *testing.T, c *fakecluster.Cluster) {
				clientOf := func(cfg *clientrest.Config, agent string) kubernetes.Interface {
					cfg.UserAgent = agent
					return kubernetes.NewForConfigOrDie(cfg)
				}
				operator, admin := clientOf(c.RESTConfig(), "operator"), clientOf(c.RESTConfig(), "jane")
				w, err := operator.AppsV1().StatefulSets("default").Watch(t.Context(), metav1.ListOptions{})
				must(t, err)
				defer w.Stop()
				cron := create(t, as(c, c.RESTConfig(), "operator"), cronTab("a"))
				labels := map[string]string{"app": "web"}
				_, err = operator.AppsV1().StatefulSets("default").Create(t.Context(), &appsv1.StatefulSet{
					ObjectMeta: metav1.ObjectMeta{Name: "web", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, cron.GroupVersionKind())}},
					Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
						Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
				}, metav1.CreateOptions{})
				must(t, err)
				time.Sleep(time.Second)
				test.change(t, c, operator, admin)
			})
			equal(t, "section", section(log, "owned and changed, without a reaction of the controller:"), test.want)
		})
	}
}

// stamping runs a controller that writes a status whenever it gets an event, until ctx ends.
func stamping(ctx context.Context, t *testing.T, crons dynamic.ResourceInterface, status func(now string) object) {
	w, err := crons.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	defer w.Stop()
	for event := range w.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			return
		}
		obj.Object["status"] = status(time.Now().UTC().Format(time.RFC3339Nano))
		if _, err := crons.UpdateStatus(ctx, obj, metav1.UpdateOptions{}); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
}

// In a bubble, a controller that writes the time on each event comes to rest, because time stands still. The test fails once time has
// advanced, although all else passes.
func TestATimestampOnEachEventFailsATestInABubble(t *testing.T) {
	found := []string{"fakecluster: after 1s operator writes the time into status.seen of crontabs.stable.example.com default/a whenever it is called, and its own write calls it again, " +
		"without end in real time: write the time only if something else changes"}
	for _, test := range []struct {
		rule   string
		user   string // who changes the object once more
		sleep  time.Duration
		status func(now string) object
		want   []string
	}{
		{"after time has advanced", "jane", time.Second, func(now string) object { return object{"seen": now} }, found},
		{"also if the test uses the client of the operator", "operator", time.Second, func(now string) object { return object{"seen": now} }, found},
		{"not before", "jane", 0, func(now string) object { return object{"seen": now} }, nil},
		{"a status without the time", "jane", time.Second, func(string) object { return object{"seen": "yes"} }, nil},
	} {
		t.Run(test.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := &cleaning{reporting: reporting{TB: t}}
				crd := cronTabDefinition()
				version := &crd.Spec.Versions[0]
				version.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
				version.Schema.OpenAPIV3Schema.Properties["status"] = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"seen": {Type: "string"}}}
				c := fakecluster.Start(ended, fakecluster.InProcess(), fakecluster.WithObjects(crd))
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					stamping(ctx, t, as(c, c.RESTConfig(), "operator"), test.status)
				}()
				synctest.Wait()
				user := as(c, c.RESTConfig(), test.user)
				create(t, user, cronTab("a"))
				synctest.Wait()
				time.Sleep(test.sleep)
				_, err := user.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"wakes":"it"}}}`), metav1.PatchOptions{})
				must(t, err)
				synctest.Wait()
				stop()
				<-done
				ended.end()
				if test.want == nil {
					equal(t, "failures", strings.Join(ended.errors, "\n"), "")
					return
				}
				equal(t, "failures", ended.errors, test.want)
			})
		})
	}
}

// cleaning is a test that records its failures and ends before the one around it.
type cleaning struct {
	reporting
	cleanups []func()
}

func (c *cleaning) Cleanup(do func()) { c.cleanups = append(c.cleanups, do) }

func (c *cleaning) end() {
	for _, do := range c.cleanups {
		do()
	}
}
