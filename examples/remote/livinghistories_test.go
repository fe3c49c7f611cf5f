package remote

import (
	stdcmp "cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/workloads"
)

// How many random histories are compared, and which.
var (
	histories    = flag.Int("histories", 10, "how many random histories run in process and through remote")
	firstHistory = flag.Int("first-history", 0, "the seed of the first history")
)

// A history of writes, waits and deletions has the same objects and Events in process and through remote, at the same times up to a second.
//
// What Kubernetes' controllers do at one moment has no order, so that a history has several ends in process, too. Through remote it has one of them.
func TestHistoriesAreThoseInProcess(t *testing.T) {
	inProcess := fakecluster.Start(t, fakecluster.InProcess())
	outside := remote.Start(t)
	for i := range *histories {
		seed := *firstHistory + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var got []entry
			synctest.Test(t, func(t *testing.T) {
				c := outside.Fork(t)
				if err := c.RunWorkloads("nodes: 2"); err != nil {
					t.Fatal(err)
				}
				got = history(t, &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}, uint64(seed))
			})
			var want []entry
			for range 10 {
				synctest.Test(t, func(t *testing.T) {
					c := inProcess.Fork(t)
					workloads.Run(t, c, workloads.Nodes(2))
					want = history(t, c.RESTConfig(), uint64(seed))
				})
				if len(want) > 0 && slices.EqualFunc(want, got, entry.same) {
					return
				}
			}
			t.Errorf("(-in process +remote):\n%s", cmp.Diff(want, got))
		})
	}
}

// entry is an object or an Event that a history leaves behind.
type entry struct {
	Object  string
	Created time.Duration // since the beginning
}

// same reports whether two entries differ by a second at most.
func (e entry) same(other entry) bool {
	return e.Object == other.Object && (e.Created-other.Created).Abs() <= time.Second
}

// history plays a random history, and returns what is in the cluster afterwards, with the times since its beginning.
func history(t *testing.T, cfg *rest.Config, seed uint64) (entries []entry) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	clients := kubernetes.NewForConfigOrDie(cfg)
	ctx := t.Context()
	deployments, jobs, crons, pods := clients.AppsV1().Deployments("default"), clients.BatchV1().Jobs("default"), clients.BatchV1().CronJobs("default"), clients.CoreV1().Pods("default")
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web"}}}}
	once := template
	once.Spec.RestartPolicy = corev1.RestartPolicyNever
	began := time.Now().Truncate(time.Minute).Add(time.Minute)
	time.Sleep(time.Until(began)) // the workloads begin a moment later through remote
	for i := range 12 {
		name := fmt.Sprint("o", r.IntN(3))
		switch r.IntN(7) { // an error is part of the history
		case 0, 1:
			_, _ = deployments.Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template}}, metav1.CreateOptions{})
		case 2:
			_, _ = deployments.Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d, "template": {"spec": {"terminationGracePeriodSeconds": %d}}}}`, r.IntN(4), i), metav1.PatchOptions{})
		case 3:
			_, _ = jobs.Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: once}}, metav1.CreateOptions{})
		case 4:
			_, _ = crons.Create(ctx, &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.CronJobSpec{Schedule: "*/20 * * * *",
				JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: once}}}}, metav1.CreateOptions{})
		case 5:
			// The ReplicaSet controller may replace a Pod that the garbage collector deletes, so there are none.
			_, _ = deployments.Patch(ctx, name, types.MergePatchType, []byte(`{"spec": {"replicas": 0}}`), metav1.PatchOptions{})
			time.Sleep(time.Minute)
			_ = deployments.Delete(ctx, name, metav1.DeleteOptions{})
		case 6:
			if list, err := pods.List(ctx, metav1.ListOptions{}); err == nil && len(list.Items) > 0 {
				oldest := slices.MinFunc(list.Items, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
				_ = pods.Delete(ctx, oldest.Name, metav1.DeleteOptions{})
			}
		}
		time.Sleep(time.Duration(r.IntN(20*60)) * time.Second)
	}
	add := func(kind, name string, created metav1.Time, more ...any) {
		entries = append(entries, entry{fmt.Sprint(kind, " ", madeUp.ReplaceAllString(name, "-X"), " ", fmt.Sprint(more...)), created.Sub(began)})
	}
	options := metav1.ListOptions{}
	if list, err := deployments.List(ctx, options); err == nil {
		for _, d := range list.Items {
			add("Deployment", d.Name, d.CreationTimestamp, d.Status.ReadyReplicas, d.Generation)
		}
	}
	if list, err := jobs.List(ctx, options); err == nil {
		for _, j := range list.Items {
			add("Job", j.Name, j.CreationTimestamp, j.Status.Succeeded, j.Status.Active)
		}
	}
	if list, err := crons.List(ctx, options); err == nil {
		for _, c := range list.Items {
			add("CronJob", c.Name, c.CreationTimestamp, c.Status.LastScheduleTime)
		}
	}
	if list, err := pods.List(ctx, options); err == nil {
		for _, p := range list.Items {
			add("Pod", p.Name, p.CreationTimestamp, p.Status.Phase, p.DeletionTimestamp != nil)
		}
	}
	if list, err := clients.CoreV1().Events("default").List(ctx, options); err == nil {
		for _, e := range list.Items {
			// The CronJob controller may look at a Job twice at one moment, also in process.
			if e.Reason != "FailedDelete" && e.InvolvedObject.Kind != "Node" {
				add("Event", e.InvolvedObject.Kind+" "+e.InvolvedObject.Name, e.CreationTimestamp, e.Reason)
			}
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return stdcmp.Or(stdcmp.Compare(a.Object, b.Object), stdcmp.Compare(a.Created, b.Created))
	})
	return entries
}

// madeUp is the end of a generated name.
var madeUp = regexp.MustCompile(`(-[a-z0-9]{8,10})?-[a-z0-9]{5}$|-[a-z0-9]{8,10}$`)
