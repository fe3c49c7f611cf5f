package fakecluster_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// kept is a cluster in which controllers act, and a client for it.
func kept(t *testing.T, options ...fakecluster.Option) (*fakecluster.Cluster, kubernetes.Interface) {
	t.Helper()
	c := fakecluster.Start(t, append(options, fakecluster.InProcess())...)
	return c, clientOf(t, c.RESTConfig())
}

func made[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// The controllers act in the order of AllControllers, each as the real one's service account.
func TestControllersActInTheirOrderAndAsThemselves(t *testing.T) {
	c, k := kept(t, fakecluster.WithControllers(fakecluster.AllControllers()...), fakecluster.WithAudit(auditv1.LevelMetadata))
	before := len(c.Audit())
	made[*corev1.Namespace](t)(k.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{}))
	must(t, k.CoreV1().Namespaces().Delete(t.Context(), "team", metav1.DeleteOptions{}))
	var got []string
	for _, e := range c.Audit()[before:] {
		who := e.User.Username
		if account, ok := strings.CutPrefix(who, "system:serviceaccount:kube-system:"); ok {
			who = account
			equal(t, "agent", strings.HasSuffix(e.UserAgent, " kubernetes/unknown/"+e.User.Username), true)
		}
		got = append(got, fmt.Sprintf("%s: %s %s", who, e.Verb, e.ObjectRef.Resource))
	}
	equal(t, "requests", strings.Join(got, "\n"), strings.Join([]string{
		"service-account-controller: create serviceaccounts",
		"root-ca-cert-publisher: create configmaps",
		"kubernetes-admin: create namespaces",
		"namespace-controller: delete configmaps",
		"namespace-controller: delete serviceaccounts",
		"namespace-controller: update namespaces",
		"namespace-controller: update namespaces",
		"root-ca-cert-publisher: create configmaps", // refused, because the namespace is gone
		"kubernetes-admin: delete namespaces",
	}, "\n"))
}

// Controllers do not act on a dry run.
func TestControllersDoNotFollowADryRun(t *testing.T) {
	_, k := kept(t, fakecluster.WithControllers(fakecluster.AllControllers()...))
	before := made[*corev1.ServiceAccountList](t)(k.CoreV1().ServiceAccounts("").List(t.Context(), metav1.ListOptions{})).ResourceVersion
	made[*corev1.Namespace](t)(k.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{DryRun: []string{"All"}}))
	if err := k.CoreV1().ServiceAccounts("default").Delete(t.Context(), "default", metav1.DeleteOptions{DryRun: []string{"All"}}); err != nil {
		t.Fatal(err)
	}
	equal(t, "revision", made[*corev1.ServiceAccountList](t)(k.CoreV1().ServiceAccounts("").List(t.Context(), metav1.ListOptions{})).ResourceVersion, before)
}

// The same requests with the same seed give the same objects, also those that controllers make.
func TestControllersRepeatWithTheSeed(t *testing.T) {
	var generated [2]string
	for i := range generated {
		_, k := kept(t, fakecluster.WithSeed(7), fakecluster.WithControllers(fakecluster.AllControllers()...))
		for n := range 3 {
			name := fmt.Sprintf("team-%d", n)
			made[*corev1.Namespace](t)(k.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
			generated[i] += string(made[*corev1.ServiceAccount](t)(k.CoreV1().ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})).UID) + "\n"
			generated[i] += string(made[*corev1.ConfigMap](t)(k.CoreV1().ConfigMaps(name).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})).UID) + "\n"
		}
		pod := made[*corev1.Pod](t)(k.CoreV1().Pods("team-0").Create(t.Context(), pod("p", ""), metav1.CreateOptions{}))
		generated[i] += pod.Spec.Volumes[0].Name
	}
	equal(t, "accounts, certificates and the token volume", generated[1], generated[0])
}

// The last of the writers has seen the writes of all others.
func TestControllersConvergeAfterConcurrentWrites(t *testing.T) {
	_, k := kept(t, fakecluster.WithControllers(fakecluster.AllControllers()...))
	roles := k.RbacV1().ClusterRoles()
	made[*rbacv1.ClusterRole](t)(roles.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "all"}, AggregationRule: &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"part": "true"}}}}}, metav1.CreateOptions{}))
	var wg sync.WaitGroup
	var want []string
	for worker := range 6 {
		for i := range 5 {
			if i%2 != 0 {
				want = append(want, fmt.Sprintf("r-%d-%d", worker, i))
			}
		}
		wg.Go(func() {
			for i := range 5 {
				name := fmt.Sprintf("r-%d-%d", worker, i)
				_, err := roles.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"part": "true"}},
					Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{name}}}}, metav1.CreateOptions{})
				if err == nil && i%2 == 0 {
					err = roles.Delete(t.Context(), name, metav1.DeleteOptions{})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var got []string
	for _, rule := range made[*rbacv1.ClusterRole](t)(roles.Get(t.Context(), "all", metav1.GetOptions{})).Rules {
		got = append(got, rule.ResourceNames...)
	}
	equal(t, "rules", got, want)
}

// later lets time pass, and then what is due by then end.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wrong is a quota whose status another client has written. Its controller measures it five minutes later.
func wrong(t *testing.T, l limited) {
	t.Helper()
	l.limit("quota", "configmaps=5")
	_, err := l.CoreV1().ResourceQuotas("default").Patch(t.Context(), "quota", types.MergePatchType, []byte(`{"status":{"used":{"configmaps":"4"}}}`), metav1.PatchOptions{}, "status")
	must(t, err)
}

func TestWhatIsDueIsDoneByATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLimited(t)
		wrong(t, l)
		f := limitedBy(t, l.Cluster.Fork(t))
		later(5*time.Minute - time.Second)
		l.uses("a second before", "quota", "configmaps=4")
		later(time.Second)
		l.uses("when the time is over", "quota", "configmaps=0")
		f.uses("in the fork", "quota", "configmaps=0")
	})
}

// By a clock of the test's own, the next write finds what is due.
func TestWhatIsDueUsesTheClockOfTheCluster(t *testing.T) {
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	l := startLimited(t, fakecluster.WithClock(clock))
	wrong(t, l)
	for _, step := range []struct {
		ahead time.Duration
		used  string
	}{{4 * time.Minute, "configmaps=4"}, {time.Hour, "configmaps=0"}} {
		ahead.Store(int64(step.ahead))
		made[*corev1.Secret](t)(l.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "any-"}}, metav1.CreateOptions{}))
		l.uses(step.ahead.String(), "quota", step.used)
	}
}

func TestNothingIsDueAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLimited(t)
		wrong(t, l)
		must(t, l.Close())
		later(time.Hour)
	})
}

// A controller outside of the cluster may create the account of a namespace a little later. Other accounts
// are not waited for.
func TestAPodWaitsForTheServiceAccountOfItsNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k := kept(t, fakecluster.WithAdmissionPlugins("ServiceAccount"))
		defer synctest.Wait() // for the answer about the account, which may come after the Pod's
		began := time.Now()
		time.AfterFunc(300*time.Millisecond, func() {
			for _, name := range []string{"default-2", "default"} {
				account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
				if _, err := k.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
		podOf := func(name, account string) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		}
		_, err := k.CoreV1().Pods("default").Create(t.Context(), podOf("q", "robot"), metav1.CreateOptions{})
		fails(t, "another account", err, `pods "q" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found`)
		equal(t, "time that has passed", time.Since(began), time.Duration(0))

		pod, err := k.CoreV1().Pods("default").Create(t.Context(), podOf("p", ""), metav1.CreateOptions{})
		equal(t, "error", err, nil)
		equal(t, "account", pod.Spec.ServiceAccountName, "default")
		equal(t, "time that has passed", time.Since(began), 300*time.Millisecond)
	})
}

// The plugin is on if its controller acts, unless an option overrides it.
func TestTheServiceAccountPluginIsTurnedOnAndOffByName(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []fakecluster.Option
		account string
		wait    time.Duration
		err     string
	}{
		{"by default it is off", nil, "", 0, ""},
		{"with the controller it is on", []fakecluster.Option{fakecluster.WithControllers(fakecluster.ServiceAccountController)}, "default", 0, ""},
		{"it can be turned off", []fakecluster.Option{fakecluster.WithControllers(fakecluster.ServiceAccountController), fakecluster.WithoutAdmissionPlugins("ServiceAccount")}, "", 0, ""},
		{"without the controller the account is missing, and is waited for", []fakecluster.Option{fakecluster.WithAdmissionPlugins("ServiceAccount")},
			"", time.Second, `pods "p" is forbidden: error looking up service account default/default: serviceaccount "default" not found`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, k := kept(t, c.options...)
				began := time.Now()
				pod, err := k.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
				equal(t, "time that has passed", time.Since(began), c.wait)
				if c.err != "" {
					fails(t, "create", err, c.err)
					return
				}
				equal(t, "error", err, nil)
				equal(t, "account", pod.Spec.ServiceAccountName, c.account)
			})
		})
	}
}

// A fork that begins before a controller has done its work does it itself.
func TestAForkHasItsOwnControllers(t *testing.T) {
	c, k := kept(t, fakecluster.WithControllers(fakecluster.AllControllers()...))
	f := clientOf(t, c.Fork(t).RESTConfig())
	for _, one := range []kubernetes.Interface{k, f} {
		made[*corev1.Namespace](t)(one.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{}))
	}
	for _, one := range []kubernetes.Interface{k, f} {
		made[*corev1.ServiceAccount](t)(one.CoreV1().ServiceAccounts("team").Get(t.Context(), "default", metav1.GetOptions{}))
		if err := one.CoreV1().Namespaces().Delete(t.Context(), "team", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := one.CoreV1().Namespaces().Get(t.Context(), "team", metav1.GetOptions{})
		equal(t, "the namespace is gone", apierrors.IsNotFound(err), true)
	}
}
