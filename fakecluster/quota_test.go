package fakecluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// limited is a cluster in process, in whose namespace default quotas are used.
type limited struct {
	*testing.T
	*fakecluster.Cluster
	kubernetes.Interface
}

func startLimited(t *testing.T, opts ...fakecluster.Option) limited {
	t.Helper()
	return limitedBy(t, defined(t, append(opts, fakecluster.InProcess())...))
}

func limitedBy(t *testing.T, c *fakecluster.Cluster) limited {
	return limited{t, c, kubernetes.NewForConfigOrDie(c.RESTConfig())}
}

// limit creates a quota: limit("quota", "pods=2", "services=1").
func (l limited) limit(name string, hard ...string) {
	l.Helper()
	l.limitIn("default", &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ResourceQuotaSpec{Hard: resources(hard...)}})
}

func (l limited) limitIn(namespace string, q *corev1.ResourceQuota) {
	l.Helper()
	_, err := l.CoreV1().ResourceQuotas(namespace).Create(l.Context(), q, metav1.CreateOptions{})
	must(l, err)
}

func resources(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, one := range pairs {
		name, quantity, _ := strings.Cut(one, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return list
}

// uses checks status.used of a quota in the namespace default.
func (l limited) uses(what, name string, want ...string) {
	l.Helper()
	q, err := l.CoreV1().ResourceQuotas("default").Get(l.Context(), name, metav1.GetOptions{})
	must(l, err)
	equal(l, what+": used of "+name, printed(q.Status.Used), printed(resources(want...)))
}

func printed(list corev1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, quantity := range list {
		out[string(name)] = quantity.String()
	}
	return out
}

func (l limited) configMap(name string, options ...metav1.CreateOptions) error {
	_, err := l.CoreV1().ConfigMaps("default").Create(l.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, append(options, metav1.CreateOptions{})[0])
	return err
}

// pod is a Pod whose container requests a CPU of so much.
func pod(name, cpu string) *corev1.Pod {
	c := corev1.Container{Name: "c", Image: "i"}
	if cpu != "" {
		c.Resources.Requests = resources("cpu=" + cpu)
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
}

func (l limited) pod(p *corev1.Pod) error {
	_, err := l.CoreV1().Pods("default").Create(l.Context(), p, metav1.CreateOptions{})
	return err
}

func TestConcurrentCreatesFillAQuotaExactly(t *testing.T) {
	l := startLimited(t)
	l.limit("few", "configmaps=10", "count/crontabs.stable.example.com=4")
	l.limit("many", "configmaps=30")
	var created, refused atomic.Int64
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for n := range 4 {
				switch err := l.configMap(fmt.Sprintf("w%d-%d", w, n)); {
				case err == nil:
					created.Add(1)
				case strings.Contains(err.Error(), "exceeded quota: few, requested: configmaps=1, used: configmaps=10, limited: configmaps=10"):
					refused.Add(1)
				default:
					t.Error(err)
				}
				_, err := inDefault(l.Cluster).Create(t.Context(), cronTab(fmt.Sprintf("w%d-%d", w, n)), metav1.CreateOptions{})
				if err != nil && !strings.Contains(err.Error(), "limited: count/crontabs.stable.example.com=4") {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	equal(t, "created and refused", []int64{created.Load(), refused.Load()}, []int64{10, 22})
	equal(t, "custom objects", len(list(t, inDefault(l.Cluster)).Items), 4)
	l.uses("when full", "few", "configmaps=10", "count/crontabs.stable.example.com=4")
	l.uses("when full", "many", "configmaps=10")

	// At no revision was there an object that no quota had been charged for, or more than the limit.
	last := revision(t, list(t, l.Dynamic().Resource(configMaps)))
	for r := last - 60; r <= last; r++ {
		exactly := metav1.ListOptions{ResourceVersion: fmt.Sprint(r), ResourceVersionMatch: metav1.ResourceVersionMatchExact}
		objects, err := l.CoreV1().ConfigMaps("default").List(t.Context(), exactly)
		must(t, err)
		quotas, err := l.CoreV1().ResourceQuotas("default").List(t.Context(), exactly)
		must(t, err)
		for _, q := range quotas.Items {
			used := q.Status.Used["configmaps"]
			if q.Status.Used == nil {
				continue
			}
			if counted := used.Value(); counted < int64(len(objects.Items)) || counted > 10 {
				t.Errorf("at revision %d the quota %s says that %d are used, and there are %d", r, q.Name, counted, len(objects.Items))
			}
		}
	}
}

func TestAQuotaIsRightAfterManyConcurrentWrites(t *testing.T) {
	l := startLimited(t, fakecluster.WithControllers(append(fakecluster.DefaultControllers(), fakecluster.GarbageCollector)...))
	l.limit("quota", "configmaps=5", "pods=5", "requests.cpu=1")
	var writers sync.WaitGroup
	for w := range 6 {
		writers.Go(func() {
			for n := range 15 {
				name := fmt.Sprintf("w%d-%d", w, n)
				if l.configMap(name) == nil && n%3 != 0 {
					must(t, l.CoreV1().ConfigMaps("default").Delete(t.Context(), name, metav1.DeleteOptions{}))
				}
				if l.pod(pod(name, "100m")) != nil {
					continue
				}
				switch n % 3 {
				case 0:
					must(t, l.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}))
				case 1:
					_, err := l.CoreV1().Pods("default").Patch(t.Context(), name, types.MergePatchType, []byte(`{"status":{"phase":"Failed"}}`), metav1.PatchOptions{}, "status")
					must(t, err)
				}
				if n%5 == 0 { // the limit changes meanwhile, too
					_, err := l.CoreV1().ResourceQuotas("default").Patch(t.Context(), "quota", types.MergePatchType,
						fmt.Appendf(nil, `{"spec":{"hard":{"configmaps":"%d"}}}`, 5+n), metav1.PatchOptions{})
					must(t, err)
				}
			}
		})
	}
	writers.Wait()
	live := 0
	pods, err := l.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, p := range pods.Items {
		if p.Status.Phase != corev1.PodFailed {
			live++
		}
	}
	l.uses("in the end", "quota", fmt.Sprintf("configmaps=%d", len(list(t, l.Dynamic().Resource(configMaps).Namespace("default")).Items)),
		fmt.Sprintf("pods=%d", live), fmt.Sprintf("requests.cpu=%dm", 100*live))
}

func TestAQuotaThatIsCreatedAmongWritesIsRight(t *testing.T) {
	l := startLimited(t)
	for round := range 20 {
		var both sync.WaitGroup
		name := fmt.Sprintf("q%d", round)
		both.Go(func() {
			for n := range 3 {
				if err := l.configMap(fmt.Sprintf("%s-%d", name, n)); err != nil && !strings.Contains(err.Error(), "status unknown for quota") {
					t.Error(err)
				}
			}
		})
		both.Go(func() { l.limit(name, "configmaps=1000") })
		both.Wait()
		l.uses("once both are there", name, fmt.Sprintf("configmaps=%d", len(list(t, l.Dynamic().Resource(configMaps).Namespace("default")).Items)))
	}
}

func TestAQuotaIsReleasedByEveryKindOfDelete(t *testing.T) {
	background := metav1.DeletePropagationBackground
	for name, c := range map[string]struct {
		hard []string
		do   func(l limited)
		left []string // that is used afterwards
	}{
		"deletion": {[]string{"configmaps=5"}, func(l limited) {
			must(l, l.configMap("a"))
			must(l, l.CoreV1().ConfigMaps("default").Delete(l.Context(), "a", metav1.DeleteOptions{}))
		}, []string{"configmaps=0"}},
		"deletion of a collection": {[]string{"configmaps=5", "count/secrets=5"}, func(l limited) {
			must(l, l.configMap("a"))
			must(l, l.configMap("b"))
			_, err := l.CoreV1().Secrets("default").Create(l.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
			must(l, err)
			must(l, l.CoreV1().ConfigMaps("default").DeleteCollection(l.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		}, []string{"configmaps=0", "count/secrets=1"}},
		"removal of the last finalizer": {[]string{"count/crontabs.stable.example.com=5"}, func(l limited) {
			held := cronTab("a")
			held.SetFinalizers([]string{"example.com/hold"})
			create(l, inDefault(l.Cluster), held)
			remove(l, inDefault(l.Cluster), "a")
			l.uses("while a finalizer holds the object", "quota", "count/crontabs.stable.example.com=1")
			setFinalizers(l, inDefault(l.Cluster), "a")
		}, []string{"count/crontabs.stable.example.com=0"}},
		"garbage collection": {[]string{"configmaps=5"}, func(l limited) {
			owner := create(l, inDefault(l.Cluster), cronTab("owner"))
			create(l, l.Dynamic().Resource(configMaps).Namespace("default"), ownedBy(configMap("a"), owner))
			l.uses("before", "quota", "configmaps=1")
			must(l, inDefault(l.Cluster).Delete(l.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &background}))
		}, []string{"configmaps=0"}},
		"deletion of the definition": {[]string{"count/crontabs.stable.example.com=5"}, func(l limited) {
			create(l, inDefault(l.Cluster), cronTab("a"))
			deleteDefinition(l, l.Cluster, definition)
		}, []string{"count/crontabs.stable.example.com=0"}},
		"the end of a pod": {[]string{"pods=5", "count/pods=5", "requests.cpu=5"}, func(l limited) {
			must(l, l.pod(pod("a", "100m")))
			_, err := l.CoreV1().Pods("default").Patch(l.Context(), "a", types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
			must(l, err)
		}, []string{"pods=0", "count/pods=1", "requests.cpu=0"}},
		"deletion of a pod whose node has ended it": {[]string{"pods=5"}, func(l limited) {
			p := pod("a", "")
			p.Spec.NodeName = "node"
			must(l, l.pod(p))
			must(l, l.CoreV1().Pods("default").Delete(l.Context(), "a", metav1.DeleteOptions{}))
			l.uses("during the grace period", "quota", "pods=1")
			var now int64
			must(l, l.CoreV1().Pods("default").Delete(l.Context(), "a", metav1.DeleteOptions{GracePeriodSeconds: &now}))
		}, []string{"pods=0"}},
		"deletion of a pod that a finalizer holds, once its grace period is over": {[]string{"pods=5", "count/pods=5"}, func(l limited) {
			p := pod("a", "")
			p.Finalizers = []string{"example.com/hold"}
			must(l, l.pod(p))
			must(l, l.CoreV1().Pods("default").Delete(l.Context(), "a", metav1.DeleteOptions{}))
		}, []string{"pods=0", "count/pods=1"}},
		"an update that uses less": {[]string{"services=5", "services.nodeports=5"}, func(l limited) {
			port := []corev1.ServicePort{{Name: "a", Port: 1}, {Name: "b", Port: 2}}
			s, err := l.CoreV1().Services("default").Create(l.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: port}}, metav1.CreateOptions{})
			must(l, err)
			l.uses("before", "quota", "services=2", "services.nodeports=2")
			s.Spec.Ports = s.Spec.Ports[:1]
			s, err = l.CoreV1().Services("default").Update(l.Context(), s, metav1.UpdateOptions{})
			must(l, err)
			l.uses("with one port less", "quota", "services=2", "services.nodeports=1")
			s.Spec.Type = corev1.ServiceTypeClusterIP
			_, err = l.CoreV1().Services("default").Update(l.Context(), s, metav1.UpdateOptions{})
			must(l, err)
		}, []string{"services=2", "services.nodeports=0"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLimited(t, withCollection())
			l.limit("quota", c.hard...)
			c.do(limited{t, l.Cluster, l.Interface})
			l.uses("afterwards", "quota", c.left...)
		})
	}
}

func TestANamespaceThatIsEmptiedReleasesItsQuotas(t *testing.T) {
	l := startLimited(t)
	team := l.Dynamic().Resource(namespaces)
	create(t, team, newNamespace("team"))
	l.limitIn("team", &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "quota", Finalizers: []string{"example.com/hold"}},
		Spec:       corev1.ResourceQuotaSpec{Hard: resources("configmaps=2", "pods=2")},
	})
	_, err := l.CoreV1().ConfigMaps("team").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	must(t, err)
	remove(t, team, "team")
	q, err := l.CoreV1().ResourceQuotas("team").Get(t.Context(), "quota", metav1.GetOptions{})
	must(t, err)
	equal(t, "used of what is left", printed(q.Status.Used), map[string]string{"configmaps": "0", "pods": "0"})
	setFinalizers(t, l.Dynamic().Resource(corev1.SchemeGroupVersion.WithResource("resourcequotas")).Namespace("team"), "quota")
	_, err = l.CoreV1().Namespaces().Get(t.Context(), "team", metav1.GetOptions{})
	equal(t, "the namespace is gone", apierrors.IsNotFound(err), true)
}

func TestARefusedWriteOrDryRunUsesNothing(t *testing.T) {
	refuses := errors.New("no")
	l := startLimited(t, fakecluster.WithAdmission(nil, func(_ context.Context, r *fakecluster.AdmissionRequest) error {
		if r.Name == "unwanted" {
			return refuses
		}
		return nil
	}))
	l.limit("quota", "configmaps=3", "count/secrets=3", "services.nodeports=2", "pods=3")
	must(t, l.configMap("a"))
	now := []string{"configmaps=1", "count/secrets=0", "services.nodeports=0", "pods=0"}

	fails(t, "refused by admission", l.configMap("unwanted"), `configmaps "unwanted" is forbidden: no`)
	l.uses("after a refusal", "quota", now...)
	fails(t, "one that is there", l.configMap("a"), `configmaps "a" already exists`)
	l.uses("after a name that is taken", "quota", now...)
	must(t, l.configMap("dry", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))
	l.uses("after a dry run", "quota", now...)
	fails(t, "an invalid one", l.configMap("A"), `ConfigMap "A" is invalid: metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', `+
		`and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`)
	l.uses("after an invalid one", "quota", now...)
	tooMany := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort,
		Ports: []corev1.ServicePort{{Name: "a", Port: 1}, {Name: "b", Port: 2}, {Name: "c", Port: 3}}}}
	_, err := l.CoreV1().Services("default").Create(t.Context(), tooMany, metav1.CreateOptions{})
	fails(t, "too many ports", err, `services "s" is forbidden: exceeded quota: quota, requested: services.nodeports=3, used: services.nodeports=0, limited: services.nodeports=2`)
	l.uses("after one that was too much", "quota", now...)

	for _, name := range []string{"b", "c"} {
		must(t, l.configMap(name))
	}
	fails(t, "a dry run beyond the limit", l.configMap("dry", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}),
		`configmaps "dry" is forbidden: exceeded quota: quota, requested: configmaps=1, used: configmaps=3, limited: configmaps=3`)
}

func TestUpdatesAreChargedTheDifference(t *testing.T) {
	l := startLimited(t)
	l.limit("quota", "services.nodeports=3", "services.loadbalancers=1")
	services := l.CoreV1().Services("default")
	s, err := services.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "a", Port: 1}, {Name: "b", Port: 2}}}}, metav1.CreateOptions{})
	must(t, err)
	l.uses("of a cluster IP", "quota", "services.nodeports=0", "services.loadbalancers=0")
	s.Spec.Type = corev1.ServiceTypeNodePort
	s, err = services.Update(t.Context(), s, metav1.UpdateOptions{})
	must(t, err)
	l.uses("of node ports", "quota", "services.nodeports=2", "services.loadbalancers=0")
	s.Spec.Type = corev1.ServiceTypeLoadBalancer
	s, err = services.Update(t.Context(), s, metav1.UpdateOptions{})
	must(t, err)
	l.uses("of a load balancer", "quota", "services.nodeports=2", "services.loadbalancers=1")
	s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "c", Port: 3}, corev1.ServicePort{Name: "d", Port: 4})
	_, err = services.Update(t.Context(), s, metav1.UpdateOptions{})
	fails(t, "two more", err, `services "s" is forbidden: exceeded quota: quota, requested: services.nodeports=2, used: services.nodeports=2, limited: services.nodeports=3`)
	l.uses("after the refusal", "quota", "services.nodeports=2", "services.loadbalancers=1")
}

func TestScopesSelectThePodsOfAQuota(t *testing.T) {
	l := startLimited(t)
	_, err := l.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}, metav1.CreateOptions{})
	must(t, err)
	scoped := func(name string, scopes ...corev1.ResourceQuotaScope) {
		l.limitIn("default", &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ResourceQuotaSpec{Hard: resources("pods=1"), Scopes: scopes}})
	}
	scoped("best-effort", corev1.ResourceQuotaScopeBestEffort)
	scoped("others", corev1.ResourceQuotaScopeNotBestEffort)
	scoped("jobs", corev1.ResourceQuotaScopeTerminating)
	l.limitIn("default", &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "important"}, Spec: corev1.ResourceQuotaSpec{Hard: resources("pods=1"),
		ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
			{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high"}}}}}})
	uses := func(what string, bestEffort, others, jobs, important int) {
		t.Helper()
		for name, n := range map[string]int{"best-effort": bestEffort, "others": others, "jobs": jobs, "important": important} {
			l.uses(what, name, fmt.Sprintf("pods=%d", n))
		}
	}
	must(t, l.pod(pod("a", "")))
	uses("a pod that requests nothing", 1, 0, 0, 0)
	fails(t, "another", l.pod(pod("b", "")), `pods "b" is forbidden: exceeded quota: best-effort, requested: pods=1, used: pods=1, limited: pods=1`)
	important := pod("c", "100m")
	important.Spec.PriorityClassName = "high"
	must(t, l.pod(important))
	uses("an important pod that requests something", 1, 1, 0, 1)
	fails(t, "another that requests something", l.pod(pod("d", "100m")), `pods "d" is forbidden: exceeded quota: others, requested: pods=1, used: pods=1, limited: pods=1`)
	_, err = l.CoreV1().Pods("default").Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"activeDeadlineSeconds":60}}`), metav1.PatchOptions{})
	must(t, err)
	uses("an update that moves a pod into a scope", 1, 1, 1, 1)
}

func TestAQuotaCountsExistingObjects(t *testing.T) {
	l := startLimited(t)
	must(t, l.configMap("a"))
	must(t, l.pod(pod("p", "300m")))
	l.limit("quota", "configmaps=1", "requests.cpu=1", "count/widgets.example.com=1")
	l.uses("what was there before", "quota", "configmaps=1", "requests.cpu=300m")
	fails(t, "one more", l.configMap("b"), `configmaps "b" is forbidden: exceeded quota: quota, requested: configmaps=1, used: configmaps=1, limited: configmaps=1`)

	quotas := l.CoreV1().ResourceQuotas("default")
	q, err := quotas.Patch(t.Context(), "quota", types.MergePatchType, []byte(`{"spec":{"hard":{"configmaps":null,"pods":"1"}}}`), metav1.PatchOptions{})
	must(t, err)
	equal(t, "the answer has the limits of before", printed(q.Status.Hard), map[string]string{"configmaps": "1", "requests.cpu": "1", "count/widgets.example.com": "1"})
	l.uses("of other limits", "quota", "pods=1", "requests.cpu=300m")
	must(t, l.configMap("b"))

	crd := cronTabDefinition()
	crd.Name, crd.Spec.Group, crd.Spec.Names.Plural, crd.Spec.Names.Singular, crd.Spec.Names.Kind, crd.Spec.Names.ShortNames = "widgets.example.com", "example.com", "widgets", "widget", "Widget", nil
	define(t, l.Cluster, crd)
	l.uses("of a kind that there is now", "quota", "pods=1", "requests.cpu=300m", "count/widgets.example.com=0")
}

func TestADeleteReleasesAQuotaInTheSameCommit(t *testing.T) {
	l := startLimited(t)
	l.limit("quota", "configmaps=5")
	l.limit("other", "secrets=5")
	must(t, l.configMap("a"))
	must(t, l.configMap("b"))
	current := func() int { return revision(t, list(t, l.Dynamic().Resource(configMaps))) }
	before := current()
	must(t, l.CoreV1().ConfigMaps("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	equal(t, "revisions", current()-before, 2)
	q, err := l.CoreV1().ResourceQuotas("default").Get(t.Context(), "quota", metav1.GetOptions{})
	must(t, err)
	equal(t, "the quota changes after the object", revision(t, q), before+2)
	equal(t, "used", printed(q.Status.Used), map[string]string{"configmaps": "1"})
	l.uses("not concerned", "other", "secrets=0")
}

func TestAQuotaIsRecountedAfterAWriteToIt(t *testing.T) {
	for name, write := range map[string]func(limited) error{
		"a wrong status": func(l limited) error {
			_, err := l.CoreV1().ResourceQuotas("default").Patch(l.Context(), "quota", types.MergePatchType, []byte(`{"status":{"used":{"configmaps":"4"}}}`), metav1.PatchOptions{}, "status")
			return err
		},
		"no status": func(l limited) error {
			_, err := l.CoreV1().ResourceQuotas("default").Patch(l.Context(), "quota", types.MergePatchType, []byte(`{"status":{"used":null}}`), metav1.PatchOptions{}, "status")
			return err
		},
		"a label": func(l limited) error {
			_, err := l.CoreV1().ResourceQuotas("default").Patch(l.Context(), "quota", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLimited(t)
			l.limit("quota", "configmaps=5", "secrets=5")
			for _, name := range []string{"a", "b", "c"} {
				must(t, l.configMap(name))
			}
			must(t, write(limited{t, l.Cluster, l.Interface}))
			must(t, l.CoreV1().ConfigMaps("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
			l.uses("after a delete", "quota", "configmaps=2", "secrets=0")
			must(t, l.CoreV1().ConfigMaps("default").Delete(t.Context(), "b", metav1.DeleteOptions{}))
			l.uses("after another", "quota", "configmaps=1", "secrets=0")
		})
	}
}

// An update may use more of one resource and less of another one.
func TestAnUpdateIsChargedAndReleasedAtOnce(t *testing.T) {
	l := startLimited(t)
	l.limit("quota", "services.nodeports=5", "services.loadbalancers=5", "count/services=5")
	services := l.CoreV1().Services("default")
	no := false
	s, err := services.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Name: "a", Port: 1}, {Name: "b", Port: 2}}}}, metav1.CreateOptions{})
	must(t, err)
	l.uses("of node ports", "quota", "services.nodeports=2", "services.loadbalancers=0", "count/services=2")
	s.Spec.Type, s.Spec.AllocateLoadBalancerNodePorts = corev1.ServiceTypeLoadBalancer, &no
	for i := range s.Spec.Ports {
		s.Spec.Ports[i].NodePort = 0
	}
	_, err = services.Update(t.Context(), s, metav1.UpdateOptions{})
	must(t, err)
	l.uses("of a load balancer without node ports", "quota", "services.nodeports=0", "services.loadbalancers=1", "count/services=2")
	must(t, services.Delete(t.Context(), "s", metav1.DeleteOptions{}))
	l.uses("of nothing", "quota", "services.nodeports=0", "services.loadbalancers=0", "count/services=1")
}

// What a delete costs does not depend on how many objects there are.
func BenchmarkADeleteUnderAQuota(b *testing.B) {
	for _, pods := range []int{10, 1000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			c := fakecluster.Start(b, fakecluster.InProcess(), fakecluster.WithControllers(fakecluster.ResourceQuotaController))
			client := kubernetes.NewForConfigOrDie(c.RESTConfig())
			_, err := client.CoreV1().ResourceQuotas("default").Create(b.Context(), &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Name: "quota"}, Spec: corev1.ResourceQuotaSpec{Hard: resources("pods=5000", "requests.cpu=5000")}}, metav1.CreateOptions{})
			must(b, err)
			create := func(name string) {
				_, err := client.CoreV1().Pods("default").Create(b.Context(), pod(name, "100m"), metav1.CreateOptions{})
				must(b, err)
			}
			for n := range pods {
				create(fmt.Sprint("other-", n))
			}
			for b.Loop() {
				b.StopTimer()
				create("a")
				b.StartTimer()
				must(b, client.CoreV1().Pods("default").Delete(b.Context(), "a", metav1.DeleteOptions{}))
			}
		})
	}
}

func TestAForkHasQuotasOfItsOwn(t *testing.T) {
	l := startLimited(t)
	l.limit("quota", "configmaps=2")
	must(t, l.configMap("a"))
	fork := limitedBy(t, l.Fork(t))
	must(t, fork.configMap("b"))
	fails(t, "the fork is full", fork.configMap("c"), `configmaps "c" is forbidden: exceeded quota: quota, requested: configmaps=1, used: configmaps=2, limited: configmaps=2`)
	l.uses("of the parent", "quota", "configmaps=1")
	must(t, l.CoreV1().ConfigMaps("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	l.uses("of the parent", "quota", "configmaps=0")
	fork.uses("of the fork", "quota", "configmaps=2")
}

func TestWithoutItsControllerAQuotaIsChargedAndNotReleased(t *testing.T) {
	l := startLimited(t, fakecluster.WithControllers())
	l.limit("quota", "configmaps=1")
	l.uses("of a new quota", "quota")
	must(t, l.configMap("free"))
	quotas := l.CoreV1().ResourceQuotas("default")
	q, err := quotas.Get(t.Context(), "quota", metav1.GetOptions{})
	must(t, err)
	q.Status.Hard = q.Spec.Hard
	q, err = quotas.UpdateStatus(t.Context(), q, metav1.UpdateOptions{})
	must(t, err)
	fails(t, "without a usage", l.configMap("a"), `configmaps "a" is forbidden: status unknown for quota: quota, resources: configmaps`)
	q.Status.Used = resources("configmaps=0")
	_, err = quotas.UpdateStatus(t.Context(), q, metav1.UpdateOptions{})
	must(t, err)
	must(t, l.configMap("a"))
	must(t, l.CoreV1().ConfigMaps("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	l.uses("after the deletion", "quota", "configmaps=1")
	fails(t, "one more", l.configMap("b"), `configmaps "b" is forbidden: exceeded quota: quota, requested: configmaps=1, used: configmaps=1, limited: configmaps=1`)
}

func TestWithoutItsPluginAQuotaLimitsNothing(t *testing.T) {
	l := startLimited(t, fakecluster.WithoutAdmissionPlugins("ResourceQuota"))
	l.limit("quota", "configmaps=0")
	must(t, l.configMap("a"))
}

func TestQuotasInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLimited(t)
		l.limit("quota", "pods=2", "configmaps=3")
		var writers sync.WaitGroup
		for n := range 6 {
			writers.Go(func() { _ = l.configMap(fmt.Sprint(n)) })
		}
		writers.Wait()
		p := pod("a", "")
		p.Spec.NodeName = "node"
		must(t, l.pod(p))
		must(t, l.CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
		l.uses("during the grace period", "quota", "pods=1", "configmaps=3")
		time.Sleep(59 * time.Second)
		synctest.Wait()
		l.uses("when the grace period is over", "quota", "pods=1", "configmaps=3") // a pod counts for as long again
		time.Sleep(time.Second)
		synctest.Wait()
		l.uses("when it no longer counts", "quota", "pods=0", "configmaps=3")
		must(t, l.CoreV1().ConfigMaps("default").Delete(t.Context(), list(t, l.Dynamic().Resource(configMaps).Namespace("default")).Items[0].GetName(), metav1.DeleteOptions{}))
		l.uses("after a delete of another kind", "quota", "pods=0", "configmaps=2")
	})
}

func TestWhoWritesTheStatusOfAQuota(t *testing.T) {
	l := startLimited(t, fakecluster.WithAudit(auditv1.LevelMetadata))
	l.limit("quota", "configmaps=2")
	must(t, l.configMap("a"))
	must(t, l.CoreV1().ConfigMaps("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	var events []string
	for _, e := range l.Audit() {
		if e.Verb == "update" && e.ObjectRef.Resource == "resourcequotas" {
			events = append(events, fmt.Sprintf("%s %s %d", e.User.Username, e.RequestURI, e.ResponseStatus.Code))
		}
	}
	const uri = "/api/v1/namespaces/default/resourcequotas/quota/status 200"
	equal(t, "audit events", events, []string{
		"system:serviceaccount:kube-system:resourcequota-controller " + uri,
		"system:apiserver " + uri,
		"system:serviceaccount:kube-system:resourcequota-controller " + uri,
	})
	q, err := l.CoreV1().ResourceQuotas("default").Get(t.Context(), "quota", metav1.GetOptions{})
	must(t, err)
	var managers []string
	for _, m := range q.ManagedFields {
		if m.Subresource == "status" {
			managers = append(managers, m.Manager)
		}
	}
	equal(t, "managers of the status", managers, []string{"kube-controller-manager"})
}

// The status of a quota without limits is the same before and after it is measured, so the controller writes it once, which
// changes nothing.
func TestAQuotaWithoutLimitsIsMeasuredOnce(t *testing.T) {
	for rule, spec := range map[string]corev1.ResourceQuotaSpec{"no spec": {}, "a scope alone": {Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}}} {
		l := startLimited(t)
		_, err := l.CoreV1().ResourceQuotas("default").Create(l.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: spec}, metav1.CreateOptions{})
		must(t, err)
		writes := 0
		for _, r := range l.Requests() {
			if r.Resource == "resourcequotas" && r.Subresource == "status" {
				writes++
			}
		}
		equal(t, rule+": writes of the status", writes, 1)
	}
}
