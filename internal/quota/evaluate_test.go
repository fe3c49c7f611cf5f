package quota

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"
	quotaapi "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// now is the time of the cluster.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// emptyCluster serves nothing.
type emptyCluster struct{ admission.Cluster }

func (emptyCluster) Registry() *resource.Registry { return &resource.Registry{} }
func (emptyCluster) Now() time.Time               { return now }

// amounts reads "pods=1 requests.cpu=100m".
func amounts(text string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, one := range strings.Fields(text) {
		name, amount, _ := strings.Cut(one, "=")
		list[corev1.ResourceName(name)] = quantity.MustParse(amount)
	}
	return list
}

// texts returns amounts for a comparison.
func texts(list corev1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, amount := range list {
		out[string(name)] = amount.String()
	}
	return out
}

func quotaOf(name, hard, used string, scopes ...corev1.ResourceQuotaScope) corev1.ResourceQuota {
	return corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.ResourceQuotaSpec{Hard: amounts(hard), Scopes: scopes},
		Status:     corev1.ResourceQuotaStatus{Hard: amounts(hard), Used: amounts(used)},
	}
}

// pod returns a Pod that requests a CPU of so much; empty: none.
func pod(cpu string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	if cpu != "" {
		p.Spec.Containers[0].Resources.Requests = amounts("cpu=" + cpu)
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func ended(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

// deleted begins the deletion of a Pod, so that its grace period is over after a while.
func deleted(left time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: now.Add(left - 30*time.Second)}, new(int64(30))
	}
}

func TestTheEffectOfAnUpdateOrADelete(t *testing.T) {
	for _, test := range []struct {
		rule            string
		resource        schema.GroupResource
		former, current runtime.Object // current is nil for a delete
		quota           corev1.ResourceQuota
		changes, exact  bool
		used            string
	}{
		{"a delete gives back one object", corev1.Resource("configmaps"), nil, nil, quotaOf("q", "configmaps=5 count/configmaps=5 secrets=5", "configmaps=3 count/configmaps=3 secrets=1"),
			true, true, "configmaps=2 count/configmaps=2 secrets=1"},
		{"another kind is not counted", corev1.Resource("configmaps"), nil, nil, quotaOf("q", "secrets=5", "secrets=1"), false, false, ""},
		{"a delete gives back what a Pod requests", pods, pod("100m"), nil, quotaOf("q", "pods=2 requests.cpu=1", "pods=2 requests.cpu=300m"), true, true, "pods=1 requests.cpu=200m"},
		{"an update is charged the difference", pods, pod("100m"), pod("250m"), quotaOf("q", "pods=2 requests.cpu=1", "pods=2 requests.cpu=300m"), true, true, "pods=2 requests.cpu=450m"},
		{"an equal update changes nothing", pods, pod("100m"), pod("100m"), quotaOf("q", "pods=2 requests.cpu=1", "pods=2 requests.cpu=300m"), false, false, ""},
		{"a Pod that has ended does not count", pods, pod("100m"), pod("100m", ended), quotaOf("q", "pods=2 requests.cpu=1", "pods=2 requests.cpu=300m"), true, true, "pods=1 requests.cpu=200m"},
		{"a scope leaves a Pod out", pods, pod("100m"), nil, quotaOf("q", "pods=2", "pods=2", corev1.ResourceQuotaScopeBestEffort), false, false, ""},
		{"and selects another one", pods, pod(""), nil, quotaOf("q", "pods=2", "pods=2", corev1.ResourceQuotaScopeBestEffort), true, true, "pods=1"},
		{"an update moves a Pod out of a scope", pods, pod(""), pod("100m"), quotaOf("q", "pods=2", "pods=2", corev1.ResourceQuotaScopeBestEffort), true, true, "pods=1"},
		{"what was never measured has to be", pods, pod("100m"), nil, quotaOf("q", "pods=2 requests.cpu=1", "pods=2"), true, false, "pods=1 requests.cpu=-100m"},
		{"as has less than nothing", pods, pod("100m"), nil, quotaOf("q", "pods=2", "pods=0"), true, false, "pods=-1"},
		{"a Pod counts until its grace period is over", pods, pod("100m", deleted(time.Second)), nil, quotaOf("q", "pods=2", "pods=2"), true, true, "pods=1"},
		{"and gives nothing back then", pods, pod("100m", deleted(0)), nil, quotaOf("q", "pods=2", "pods=2"), true, true, "pods=2"},
		{"what ResourceClaims use is measured", resourceClaims, &resourcev1.ResourceClaim{}, nil, quotaOf("q", "gpu.deviceclass.resource.k8s.io/devices=2", "gpu.deviceclass.resource.k8s.io/devices=1"), true, false, ""},
		{"Events are never counted", corev1.Resource("events"), nil, nil, quotaOf("q", "count/events=2", "count/events=1"), false, false, ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, err := evaluators{cluster: emptyCluster{}}.effect(test.resource, test.former, test.current, &test.quota)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(texts(amounts(test.used)), texts(got.Used)); got.Changes != test.changes || got.Exact != test.exact || diff != "" {
				t.Errorf("changes %t, exact %t; want %t, %t; used (-want +got):\n%s", got.Changes, got.Exact, test.changes, test.exact, diff)
			}
		})
	}
}

func TestTheChargeOfACreate(t *testing.T) {
	limited := []quotaapi.LimitedResource{{Resource: "pods", MatchContains: []string{"requests.cpu"}}}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	for _, test := range []struct {
		rule     string
		object   runtime.Object
		resource string
		quotas   []corev1.ResourceQuota
		want     string // the charged quotas, or the error
	}{
		{"each quota that limits the kind is charged", configMap, "configmaps",
			[]corev1.ResourceQuota{quotaOf("a", "configmaps=2", "configmaps=1"), quotaOf("b", "secrets=2", "secrets=1"), quotaOf("c", "count/configmaps=9", "count/configmaps=4")},
			"a map[configmaps:2], c map[count/configmaps:5]"},
		{"a full quota refuses", configMap, "configmaps", []corev1.ResourceQuota{quotaOf("a", "configmaps=9", "configmaps=1"), quotaOf("b", "configmaps=2", "configmaps=2")},
			`configmaps "a" is forbidden: exceeded quota: b, requested: configmaps=1, used: configmaps=2, limited: configmaps=2`},
		{"a quota on compute needs a request", pod(""), "pods", []corev1.ResourceQuota{quotaOf("a", "pods=2 requests.cpu=1", "pods=0 requests.cpu=0")},
			`pods "a" is forbidden: failed quota: a: must specify requests.cpu for: c`},
		{"a limited resource needs a quota", pod("100m"), "pods", []corev1.ResourceQuota{quotaOf("a", "configmaps=2", "configmaps=1")},
			`pods "a" is forbidden: insufficient quota to consume: requests.cpu`},
		{"a Pod is charged what it requests", pod("100m"), "pods", []corev1.ResourceQuota{quotaOf("a", "pods=2 requests.cpu=1", "pods=1 requests.cpu=300m")}, "a map[pods:2 requests.cpu:400m]"},
		{"without a quota nothing is charged", configMap, "configmaps", nil, ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			a := upstream.NewAttributesRecord(test.object, nil, schema.GroupVersionKind{}, "default", "a", corev1.SchemeGroupVersion.WithResource(test.resource), "", upstream.Create, &metav1.CreateOptions{}, false, nil)
			before := fmt.Sprint(test.quotas)
			charged, err := evaluators{cluster: emptyCluster{}, limited: limited}.charge(a, test.quotas)
			var got []string
			for _, rq := range charged {
				got = append(got, fmt.Sprint(rq.Name, " ", texts(rq.Status.Used)))
			}
			if err != nil {
				got = []string{err.Error()}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
			if fmt.Sprint(test.quotas) != before {
				t.Error("the given quotas are altered")
			}
		})
	}
}

func TestWhenPodsCountLess(t *testing.T) {
	for _, test := range []struct {
		rule string
		pods []runtime.Object
		want time.Duration // 0: never
	}{
		{"a Pod that is not being deleted", []runtime.Object{pod("")}, 0},
		{"one whose grace period is over", []runtime.Object{pod("", deleted(-time.Second))}, 0},
		{"the first of several", []runtime.Object{pod("", deleted(time.Minute)), pod("", deleted(time.Second)), pod("")}, time.Second},
	} {
		want := time.Time{}
		if test.want > 0 {
			want = now.Add(test.want)
		}
		if got := countsLess(now, test.pods...); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", test.rule, got, want)
		}
	}
}

// A quota stays exact by what is added to an exact one, and by a measurement.
func TestExactQuotas(t *testing.T) {
	e := &exact{revisions: map[string]int64{}}
	e.set("a", 5)
	e.advance("a", 5, 7) // the write of revision 7 is made of an exact one
	if !e.has("a", 7) || e.has("a", 5) {
		t.Errorf("after an exact write: %v", e.revisions)
	}
	e.advance("a", 8, 9) // somebody else wrote revision 8
	if e.has("a", 9) {
		t.Errorf("after the write of somebody else: %v", e.revisions)
	}
	e.forget("a")
	if e.has("a", 7) {
		t.Error("it is deleted")
	}
}
