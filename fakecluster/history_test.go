package fakecluster_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestHistoryHasWritersAndChanges(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithClock(func() time.Time { return now }))
	as := func(name string) *kubernetes.Clientset {
		cfg := c.RESTConfig()
		cfg.UserAgent = name
		return kubernetes.NewForConfigOrDie(cfg)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"app.kubernetes.io/name": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a:1"}, {Name: "b", Image: "b:1"}}},
	}
	made, err := as("kubectl").CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
	patch := func(by, body string, sub ...string) {
		_, err := as(by).CoreV1().Pods("default").Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, sub...)
		must(t, err)
	}
	patch("operator", `{"spec":{"containers":[{"name":"b","image":"b:2"}]},"metadata":{"labels":{"app.kubernetes.io/name":"shop"},"finalizers":["example.com/f"]}}`)
	patch("kubelet", `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, "status")
	_, err = as("applier").CoreV1().Pods("default").Patch(t.Context(), "web", types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"app.kubernetes.io/name":"shop"}}}`), metav1.PatchOptions{FieldManager: "applier"})
	must(t, err)
	patch("operator", `{"metadata":{"finalizers":null}}`)
	must(t, as("kubectl").CoreV1().Pods("default").Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))

	h, err := c.History(pod)
	must(t, err)
	var r int
	fmt.Sscan(made.ResourceVersion, &r)
	equal(t, "history", h.String(), fmt.Sprintf(`revision %d: kubectl create
revision %d: operator patch
	metadata.finalizers: added ["example.com/f"]
	metadata.labels["app.kubernetes.io/name"]: "web" → "shop"
	spec.containers[name=b].image: "b:1" → "b:2"
revision %d: kubelet patch status
	status.conditions: added [{"lastProbeTime":null,"lastTransitionTime":null,"status":"True","type":"Ready"}]
revision %d: applier apply
	metadata.managedFields[applier Apply]: added {"f:metadata":{"f:labels":{"f:app.kubernetes.io/name":{}}}}
revision %d: operator patch
	metadata.finalizers: removed ["example.com/f"]
revision %d: kubectl delete
	metadata.deletionGracePeriodSeconds: added 0
	metadata.deletionTimestamp: added "2030-01-02T03:04:05Z"
revision %d: kubectl delete, gone
`, r, r+1, r+2, r+3, r+4, r+5, r+6))
	equal(t, "of the first", h[0].Object.GetLabels(), map[string]string{"app.kubernetes.io/name": "web"})
	requests := c.Requests()
	equal(t, "the request", requests[h[1].Number-1].Revision, h[1].Revision)

	then, err := c.ObjectAt(fakecluster.Named("v1", "Pod", "default", "web"), int64(r+1))
	must(t, err)
	equal(t, "then", then.GetLabels(), map[string]string{"app.kubernetes.io/name": "shop"})
	_, err = c.ObjectAt(pod, int64(r+6))
	equal(t, "gone", apierrors.IsNotFound(err), true)
	_, err = c.ObjectAt(pod, int64(r+50))
	fails(t, "the future", err, fmt.Sprintf("Timeout: Too large resource version: %d, current: %d", r+50, r+6))
	_, err = c.ObjectAt(pod, 0)
	fails(t, "no revision", err, "there is no revision 0: the first is 1")
	never, err := c.History(fakecluster.Named("v1", "Pod", "default", "never"))
	must(t, err)
	equal(t, "of what never was", len(never), 0)
	_, err = c.History(fakecluster.Named("v2", "Pod", "default", "web"))
	fails(t, "an unknown kind", err, `no matches for kind "Pod" in version "v2"; the cluster serves Pod in v1`)
	_, err = c.History(&corev1.Pod{})
	fails(t, "without a name", err, "the Pod does not have a name")
	_, err = c.History(nil)
	fails(t, "nil", err, "the object is nil")
}

func TestTheHistoryOfAForkGoesOn(t *testing.T) {
	parent := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition(), cronTab("a")))
	a := get(t, inDefault(parent), "a")
	change(t, as(parent, parent.RESTConfig(), "before"), a, "one")
	fork := parent.Fork(t)
	a = get(t, inDefault(fork), "a")
	change(t, as(fork, fork.RESTConfig(), "fork"), a, "two")
	change(t, as(parent, parent.RESTConfig(), "parent"), a, "three")
	r := revision(t, a) - 1
	historyOf := func(c *fakecluster.Cluster) string {
		h, err := c.History(a)
		must(t, err)
		return h.String()
	}
	common := fmt.Sprintf("revision %d: fakecluster.test create\nrevision %d: before update\n\tspec.image: \"my-awesome-cron-image\" → \"one\"\n", r, r+1)
	equal(t, "of the fork", historyOf(fork), common+fmt.Sprintf("revision %d: fork update\n\tspec.image: \"one\" → \"two\"\n", r+2))
	equal(t, "of its origin", historyOf(parent), common+fmt.Sprintf("revision %d: parent update\n\tspec.image: \"one\" → \"three\"\n", r+2))
	h, err := fork.History(a)
	must(t, err)
	equal(t, "numbers of requests", []int64{h[0].Number, h[1].Number, h[2].Number}, []int64{0, 0, 2})
}

func TestTheHistoryReachesAsFarBackAsWatchesDo(t *testing.T) {
	c := defined(t, fakecluster.InProcess(), fakecluster.WithWatchHistory(2, 0))
	a := create(t, inDefault(c), cronTab("a"))
	for i := range 5 {
		a = change(t, inDefault(c), a, fmt.Sprint(i))
	}
	r := revision(t, a)
	h, err := c.History(a)
	must(t, err)
	equal(t, "revisions", []int64{int64(len(h)), h[0].Revision, h[2].Revision}, []int64{3, int64(r - 2), int64(r)})
	equal(t, "the first", []any{h[0].Event == "", h[0].Verb, len(h[0].Changes)}, []any{true, "update", 0})
	_, err = c.ObjectAt(a, int64(r-3))
	equal(t, "older ones", apierrors.IsResourceExpired(err), true)
}
