package fakecluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
)

// A test that ends with a timeout has read the same again and again. The log shows that, and
// the last writer. Objects that have changed meanwhile, or were read less often, are left out.
func TestAFailedTestLogsRepeatedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &failing{TB: t, failed: true}
		c := fakecluster.Start(tb, fakecluster.InProcess())
		clientOf := func(agent string) typedcorev1.ConfigMapInterface {
			cfg := c.RESTConfig()
			cfg.UserAgent = agent
			return kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
		}
		operator, maps := clientOf("operator/v1"), clientOf("web.test")
		owner, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
		must(t, err)
		_, err = operator.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}}}, metav1.CreateOptions{})
		must(t, err)
		_, err = operator.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "forgotten"}}, metav1.CreateOptions{})
		must(t, err)
		patch := func(name, patch string) {
			_, err := operator.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			must(t, err)
		}
		read := func(times int, names ...string) {
			for range times {
				time.Sleep(time.Second)
				for _, name := range names {
					_, _ = maps.Get(t.Context(), name, metav1.GetOptions{})
				}
			}
		}
		patch("owner", `{"data":{"a":"b"}}`)
		read(9, "owner", "owned")
		patch("owned", `{"data":{"a":"b"}}`)
		read(9, "owned", "forgotten")
		patch("forgotten", `{}`)
		_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}, metav1.CreateOptions{})
		must(t, err)
		read(1, "owner", "forgotten", "missing")
		read(10, "plain")
		equal(t, "section", section(tb.end(), "read again and again, though nothing changed:"),
			"+29s web.test get configmaps default/plain (10 times): it is unchanged since +18s, web.test create\n"+
				"+19s web.test get configmaps default/forgotten (10 times): it is unchanged since +0s, operator create; "+
				"later writes changed nothing: operator patch (1); it does not have an owner\n"+
				"+19s web.test get configmaps default/owner (10 times): it is unchanged since +0s, operator patch")
	})
}

func TestAFailedTestLogsReadsOfMissingObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &failing{TB: t, failed: true}
		c := fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
		cfg := c.RESTConfig()
		cfg.UserAgent = "cron.test"
		crons := cronsOf(cfg)
		create(t, crons, cronTab("gone"))
		time.Sleep(time.Second)
		must(t, crons.Delete(t.Context(), "gone", metav1.DeleteOptions{}))
		time.Sleep(time.Second)
		for range 10 {
			for _, name := range []string{"gone", "never"} {
				_, _ = crons.Get(t.Context(), name, metav1.GetOptions{})
			}
			_, err := crons.List(t.Context(), metav1.ListOptions{})
			must(t, err)
		}
		equal(t, "section", section(tb.end(), "read again and again, though nothing changed:"),
			"+2s cron.test list crontabs.stable.example.com in default (10 times): nothing there has changed since +1s, cron.test delete\n"+
				"+2s cron.test get crontabs.stable.example.com default/never (10 times): it does not exist\n"+
				"+2s cron.test get crontabs.stable.example.com default/gone (10 times): it does not exist since +1s, cron.test delete")
	})
}

// A fault of a successful request is logged as well: it may be the reason why the test fails.
func TestAFailedTestLogsFaultsOfSuccessfulRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &failing{TB: t, failed: true}
		c := fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
		cfg := c.RESTConfig()
		cfg.UserAgent = "cron.test"
		create(t, cronsOf(cfg), cronTab("a"))
		create(t, cronsOf(cfg), cronTab("b"))
		c.Inject(faults.Fault{Verb: "get", Effect: faults.StaleRead(1), Times: 2})
		c.Inject(faults.Fault{Verb: "create", Effect: faults.Unavailable(), Times: 1})
		for range 3 {
			_, err := cronsOf(cfg).Get(t.Context(), "a", metav1.GetOptions{})
			must(t, err)
		}
		_, _ = cronsOf(cfg).Create(t.Context(), cronTab("c"), metav1.CreateOptions{})
		equal(t, "section", section(tb.end(), "answered despite a fault:"),
			"+0s cron.test get crontabs.stable.example.com default/a (2 times): StaleRead(1)")
	})
}
