package fakecluster_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// as is a client for CronTabs in "default" that calls itself by a name.
func as(c *fakecluster.Cluster, cfg *clientrest.Config, name string) dynamic.ResourceInterface {
	cfg.UserAgent = name + "/v1.2.3 (linux/amd64)"
	return dynamic.NewForConfigOrDie(cfg).Resource(cronTabs).Namespace("default")
}

// lines are the requests of a cluster, in words. A watch is left out, because it may go on.
func lines(c *fakecluster.Cluster) (lines []string) {
	for _, r := range c.Requests() {
		if r.Verb != "watch" {
			lines = append(lines, r.String())
		}
	}
	return lines
}

func TestRequestsHaveTheirUserAndResult(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := fakecluster.Start(t, append(way, fakecluster.WithObjects(cronTabDefinition()))...)
		equal(t, "the requests of options", len(c.Requests()), 0)

		crons := as(c, c.RESTConfig(), "cron-operator")
		a := create(t, crons, cronTab("a"))
		r := revision(t, a)
		_, err := crons.Create(t.Context(), cronTab("a"), metav1.CreateOptions{})
		equal(t, "exists", apierrors.IsAlreadyExists(err), true)
		_, err = crons.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"image":"x"}}`), metav1.PatchOptions{FieldManager: "m"})
		must(t, err)
		_, err = crons.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"image":"x"}}`), metav1.PatchOptions{FieldManager: "m"})
		must(t, err)
		_, err = crons.Update(t.Context(), a, metav1.UpdateOptions{})
		equal(t, "conflict", apierrors.IsConflict(err), true)
		_, err = as(c, c.ConfigFor("jane"), "kubectl").List(t.Context(), metav1.ListOptions{LabelSelector: "a=b"})
		equal(t, "forbidden", apierrors.IsForbidden(err), true)
		list(t, crons)
		remove(t, crons, "a")
		_, err = crons.Get(t.Context(), "a", metav1.GetOptions{})
		equal(t, "gone", apierrors.IsNotFound(err), true)

		equal(t, "requests", lines(c), []string{
			fmt.Sprintf("cron-operator create crontabs.stable.example.com in default: 201, revision %d", r),
			`cron-operator create crontabs.stable.example.com in default: 409 AlreadyExists: crontabs.stable.example.com "a" already exists`,
			fmt.Sprintf("cron-operator patch crontabs.stable.example.com default/a: 200, revision %d", r+1),
			"cron-operator patch crontabs.stable.example.com default/a: 200, nothing changed",
			`cron-operator update crontabs.stable.example.com default/a: 409 Conflict: Operation cannot be fulfilled on crontabs.stable.example.com "a": the object has been modified; please apply your changes to the latest version and try again`,
			`kubectl list crontabs.stable.example.com in default: 403 Forbidden: crontabs.stable.example.com is forbidden: User "jane" cannot list resource "crontabs" in API group "stable.example.com" in the namespace "default"`,
			"cron-operator list crontabs.stable.example.com in default: 200",
			fmt.Sprintf("cron-operator delete crontabs.stable.example.com default/a: 200, revision %d", r+2),
			`cron-operator get crontabs.stable.example.com default/a: 404 NotFound: crontabs.stable.example.com "a" not found`,
		})
		requests := c.Requests()
		created, forbidden := requests[0], requests[5]
		equal(t, "numbers", []int64{created.Number, forbidden.Number}, []int64{1, 6})
		equal(t, "the user", created.User, "kubernetes-admin")
		equal(t, "another user", forbidden.User, "jane")
		equal(t, "the options", forbidden.Options, "labelSelector=a%3Db")
		equal(t, "the options of a patch", requests[2].Options, "fieldManager=m")
		equal(t, "how the patch is meant", requests[2].Patch, "merge")
		equal(t, "the path", requests[2].Path, "/apis/stable.example.com/v1/namespaces/default/crontabs/a")
		equal(t, "the user agent", created.UserAgent, "cron-operator/v1.2.3 (linux/amd64)")
		if created.Received < 100 || created.Time.IsZero() || created.Running {
			t.Errorf("the first request: %+v", created)
		}
		fork := c.Fork(t)
		equal(t, "requests of a fork", len(fork.Requests()), 0)
	})
}

func TestRequestsAndRevisionsHaveTheAuditIDOfTheClient(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := fakecluster.Start(t, append(way, fakecluster.WithObjects(cronTabDefinition()))...)
		a := create(t, as(c, audited(c.RESTConfig(), "run-17"), "operator"), cronTab("a"))
		remove(t, inDefault(c), "a")
		var ids []string
		for _, r := range c.Requests() {
			ids = append(ids, r.AuditID)
		}
		equal(t, "the IDs of the requests", ids, []string{"run-17", ""})
		h, err := c.Fork(t).History(a)
		must(t, err)
		equal(t, "the ID of the first revision", h[0].AuditID, "run-17")
		equal(t, "the ID of the last revision", h[len(h)-1].AuditID, "")
	})
}

func TestRequestsShowWatchesWhileTheyRun(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
	w, err := inDefault(c).Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	create(t, inDefault(c), cronTab("a"))
	next(t, w, 1)
	watching := c.Requests()[0]
	equal(t, "running", []any{watching.Verb, watching.Running, watching.Code, watching.Events}, []any{"watch", true, 200, int64(1)})
	w.Stop()
	ended(t, w)
	if got := watching.String(); !strings.HasSuffix(got, "watch crontabs.stable.example.com in default: 200, 1 event, still open") {
		t.Error(got)
	}
}

func TestRequestsNameTheControllersOfTheClusterAndTheirCause(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	namespaces := c.Dynamic().Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	_, err := namespaces.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}}, metav1.CreateOptions{})
	must(t, err)
	must(t, namespaces.Delete(t.Context(), "shop", metav1.DeleteOptions{}))
	requests := c.Requests()
	deleted := requests[1]
	equal(t, "the client's", deleted.Verb+" "+deleted.Object(), "delete namespaces shop")
	var said []string
	for _, r := range requests[2:] {
		equal(t, "cause of "+r.String(), r.Cause, deleted.Number)
		said = append(said, fmt.Sprint(r.Client(), " ", r.Verb, " ", r.Object(), " ", r.Code))
	}
	equal(t, "what follows", said, []string{
		"namespace-controller update namespaces/status shop 200", "namespace-controller update namespaces/finalize shop 200",
	})
}

func TestRequestsAreStampedWithTheTimeOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
		began := time.Now()
		time.Sleep(time.Hour)
		create(t, inDefault(c), cronTab("a"))
		r := c.Requests()[0]
		equal(t, "time", r.Time.Sub(began), time.Hour)
		equal(t, "latency", r.Latency, time.Duration(0))
	})
}

func TestTheNewestRequestsAreKept(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it sends ten thousand requests")
	}
	c := fakecluster.Start(t, fakecluster.InProcess())
	client := &http.Client{Transport: c.RESTConfig().Transport}
	ask := func(query string) {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, c.URL()+"/version?"+query, nil)
		must(t, err)
		answer, err := client.Do(req)
		must(t, err)
		must(t, answer.Body.Close())
	}
	for range 10_050 {
		ask("")
	}
	requests := c.Requests()
	equal(t, "by number", []int64{int64(len(requests)), requests[0].Number, requests[9999].Number}, []int64{10_000, 51, 10_050})
	long := strings.Repeat("x", 1<<20)
	for range 20 {
		ask("labelSelector=" + long)
	}
	requests = c.Requests()
	equal(t, "by size", []int{len(requests), len(requests[0].Options)}, []int{7, len("labelSelector=") + 1<<20})
}
