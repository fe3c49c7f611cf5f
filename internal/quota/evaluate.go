package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quotaapi "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/pkg/quota/v1/install"
	"k8s.io/utils/clock"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// evaluators compute the use of quotas by upstream's evaluators. They have no state: the use is in the status of a
// quota.
type evaluators struct {
	cluster admission.Cluster
	store   *store.Store
	memory  *resource.Memory
	limited []quotaapi.LimitedResource
}

// stored returns the objects of a namespace as strategies see them, of an internal type for most built-in
// kinds.
func (q evaluators) stored(r *resource.Resource, namespace string) ([]runtime.Object, error) {
	list, err := q.store.List(r.PrefixOf(namespace), store.ListOptions{})
	if err != nil {
		return nil, err
	}
	return q.memory.DecodeAll(r.Storage, list.Records)
}

// count returns how many objects are in a namespace.
func (q evaluators) count(r *resource.Resource, namespace string) (int, error) {
	scan, err := q.store.Scan(r.PrefixOf(namespace), store.ListOptions{Limit: 1})
	return scan.Len() + int(scan.Remaining), err
}

// charge evaluates a write by all quotas of its namespace, as the plugin ResourceQuota does. It
// returns those that must be charged, with their new status. It does not alter the given ones.
func (q evaluators) charge(a upstream.Attributes, quotas []corev1.ResourceQuota) ([]corev1.ResourceQuota, error) {
	evaluator := q.evaluator(a.GetResource().GroupResource())
	if evaluator == nil || !evaluator.Handles(a) {
		return nil, nil
	}
	after, err := resourcequota.CheckRequest(quotas, a, evaluator, q.limited)
	if err != nil {
		return nil, err
	}
	var charged []corev1.ResourceQuota
	for i := range after {
		if !quota.Equals(quotas[i].Status.Used, after[i].Status.Used) {
			charged = append(charged, after[i])
		}
	}
	return charged, nil
}

// effect describes how an update or a delete of an object changes a quota.
type effect struct {
	// Changes: the usage changes or may change.
	Changes bool
	// Exact: Used is the usage afterwards, provided that the quota's status was right before. If false, the quota must
	// be measured again.
	Exact bool
	Used  corev1.ResourceList
}

// effect returns the effect of an update or a delete of an object on a quota; current is nil for a delete. If
// changesUsage is false for the resource, former may be nil. Charge is for creates.
func (q evaluators) effect(resource schema.GroupResource, former, current runtime.Object, rq *corev1.ResourceQuota) (effect, error) {
	evaluator, hard := q.evaluator(resource), quota.ResourceNames(rq.Status.Hard)
	if evaluator == nil {
		return effect{}, nil
	}
	limits := evaluator.MatchingResources(hard)
	if len(limits) == 0 {
		return effect{}, nil
	}
	if q.limitsDevices(hard) {
		// The use of a ResourceClaim depends on pods and DeviceClasses.
		return effect{Changes: true}, nil
	}
	var after corev1.ResourceList
	before, err := usageUnder(evaluator, rq, former)
	if err == nil && current != nil {
		after, err = usageUnder(evaluator, rq, current)
	}
	if err != nil {
		return effect{}, err
	}
	if quota.Equals(before, after) {
		// A pod may have stopped counting by the passage of time, and the quota may not show it yet.
		return effect{Changes: current == nil && !countsUntil(former).IsZero()}, nil
	}
	e := effect{Changes: true, Exact: true, Used: quota.Add(corev1.ResourceList{}, rq.Status.Used)}
	for name, difference := range quota.Mask(quota.Subtract(after, before), limits) {
		used, ok := rq.Status.Used[name]
		used = used.DeepCopy()
		used.Add(difference)
		e.Exact = e.Exact && ok && used.Sign() >= 0
		e.Used[name] = used
	}
	return e, nil
}

// limitsDevices reports whether a quota limits the use of ResourceClaims.
func (q evaluators) limitsDevices(hard []corev1.ResourceName) bool {
	return len(q.resourceClaimEvaluator().MatchingResources(hard)) > 0
}

// sameUse reports whether two uses are equal.
func sameUse(a, b corev1.ResourceList) bool { return quota.Equals(a, b) }

// countsUntil returns the time when a terminating pod stops counting for quotas; zero: it counts as long as it exists.
func countsUntil(obj runtime.Object) time.Time {
	m, err := meta.Accessor(obj)
	if err != nil || m.GetDeletionTimestamp() == nil || m.GetDeletionGracePeriodSeconds() == nil {
		return time.Time{}
	}
	return m.GetDeletionTimestamp().Add(time.Duration(*m.GetDeletionGracePeriodSeconds()) * time.Second)
}

// countsLess returns the next time after now at which one of these pods stops counting for quotas;
// zero: there is none.
func countsLess(now time.Time, pods ...runtime.Object) (next time.Time) {
	for _, pod := range pods {
		if until := countsUntil(pod); until.After(now) && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	return next
}

// limits reports whether a quota, by its status, limits the use of a resource.
func (q evaluators) limits(rq *corev1.ResourceQuota, resource schema.GroupResource) bool {
	evaluator := q.evaluator(resource)
	return evaluator != nil && len(evaluator.MatchingResources(quota.ResourceNames(rq.Status.Hard))) > 0
}

// limitsPods reports whether a quota limits the use of pods.
func (q evaluators) limitsPods(rq *corev1.ResourceQuota) bool {
	return len(q.evaluator(pods).MatchingResources(quota.ResourceNames(rq.Spec.Hard))) > 0
}

// usageUnder returns the use of a quota by an object.
func usageUnder(e quota.Evaluator, rq *corev1.ResourceQuota, obj runtime.Object) (corev1.ResourceList, error) {
	matches, err := e.Matches(rq, obj)
	if err != nil || !matches {
		return nil, err
	}
	return e.Usage(obj)
}

// changesUsage reports whether updates of objects can change their use. For other kinds only the number of objects
// counts.
func changesUsage(resource schema.GroupResource) bool {
	switch resource {
	case pods, services, claims, resourceClaims:
		return true
	}
	return false
}

// measure sets the status of a quota to the limits of its spec and the current use, as resourcequota-controller does,
// and reports whether anything has changed. If it fails for some resources, it has measured the others.
func (q evaluators) measure(rq *corev1.ResourceQuota) (changed bool, err error) {
	hard := quota.Add(corev1.ResourceList{}, rq.Spec.Hard)
	used := quota.Add(corev1.ResourceList{}, rq.Status.Used)
	measured, err := quota.CalculateUsage(rq.Namespace, rq.Spec.Scopes, hard, q.registry(rq.Spec.Hard), rq.Spec.ScopeSelector)
	maps.Copy(used, measured)
	for name := range used {
		if gr, ok := counted(name); ok && q.served(gr) == nil && q.cluster.Registry().Definition(gr.String()) == nil {
			used[name] = *apiresource.NewQuantity(0, apiresource.DecimalSI) // its definition is gone, and so are its objects
		}
	}
	used = quota.Mask(used, quota.ResourceNames(hard))
	former := rq.Status
	rq.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: used}
	changed = former.Hard == nil || former.Used == nil || !equality.Semantic.DeepEqual(rq.Spec.Hard, former.Hard) || !quota.Equals(used, former.Used)
	return changed, err
}

var (
	pods           = corev1.Resource("pods")
	services       = corev1.Resource("services")
	claims         = corev1.Resource("persistentvolumeclaims")
	resourceClaims = resourcev1.Resource("resourceclaims")
)

// aliases are the names under which objects of some kinds have always been counted, beside
// those that begin with "count/".
var aliases = map[schema.GroupResource]corev1.ResourceName{
	corev1.Resource("configmaps"):             corev1.ResourceConfigMaps,
	corev1.Resource("resourcequotas"):         corev1.ResourceQuotas,
	corev1.Resource("replicationcontrollers"): corev1.ResourceReplicationControllers,
	corev1.Resource("secrets"):                corev1.ResourceSecrets,
}

// evaluator returns the evaluator of a resource; nil: quotas cannot limit the resource.
func (q evaluators) evaluator(resource schema.GroupResource) quota.Evaluator {
	if _, ignored := install.DefaultIgnoredResources()[resource]; ignored {
		return nil
	}
	switch resource {
	case pods:
		return core.NewPodEvaluator(q.lister, passing{now: q.cluster.Now})
	case services:
		return core.NewServiceEvaluator(q.lister)
	case claims:
		return core.NewPersistentVolumeClaimEvaluator(q.lister)
	case resourceClaims:
		return q.resourceClaimEvaluator()
	}
	return generic.NewObjectCountEvaluator(resource, q.placeholders(resource), aliases[resource])
}

// registry returns the evaluators of the resources that a quota limits.
func (q evaluators) registry(hard corev1.ResourceList) quota.Registry {
	resources := slices.AppendSeq([]schema.GroupResource{pods, services, claims, resourceClaims}, maps.Keys(aliases))
	for name := range hard {
		if gr, ok := counted(name); ok && q.served(gr) != nil {
			resources = append(resources, gr)
		}
	}
	var found []quota.Evaluator
	for _, gr := range resources {
		if e := q.evaluator(gr); e != nil {
			found = append(found, e)
		}
	}
	return generic.NewRegistry(found)
}

// counted returns the resource whose objects a name that begins with "count/" limits.
func counted(name corev1.ResourceName) (schema.GroupResource, bool) {
	text, ok := strings.CutPrefix(string(name), "count/")
	return schema.ParseGroupResource(text), ok
}

// resourceClaimEvaluator returns the evaluator of ResourceClaims. Upstream feeds it by
// informers.
func (q evaluators) resourceClaimEvaluator() quota.Evaluator {
	classes := extendedresourcecache.NewExtendedResourceCache(klog.Background())
	// Upstream's evaluators have no way to report an error of a list.
	objects, _ := q.list(resourcev1.GroupName, "deviceclasses", "")
	for _, class := range objects {
		classes.OnAdd(class, true)
	}
	ofPod := func(namespace string, pod types.UID) ([]*resourcev1.ResourceClaim, error) {
		objects, err := q.list(resourcev1.GroupName, "resourceclaims", namespace)
		if err != nil {
			return nil, err
		}
		var owned []*resourcev1.ResourceClaim
		for _, obj := range objects {
			claim := obj.(*resourcev1.ResourceClaim)
			owner := metav1.GetControllerOfNoCopy(claim)
			if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" &&
				owner != nil && owner.APIVersion == "v1" && owner.Kind == "Pod" && owner.UID == pod {
				owned = append(owned, claim)
			}
		}
		return owned, nil
	}
	return core.NewResourceClaimEvaluator(q.lister, classes, podLister{evaluators: q}, ofPod)
}

// list returns the objects of a kind in version v1; none if v1 is not served.
func (q evaluators) list(group, plural, namespace string) ([]runtime.Object, error) {
	r := q.cluster.Registry().Resource(group, plural)
	if r == nil || r.Version("v1") == nil {
		return nil, nil
	}
	return q.cluster.List(r.Version("v1"), namespace, nil)
}

// podLister reads pods one by one. Evaluators do not list pods through it.
type podLister struct {
	corev1listers.PodLister
	evaluators evaluators
}

// Pods implements corev1listers.PodLister.
func (l podLister) Pods(namespace string) corev1listers.PodNamespaceLister {
	return podsOfNamespace{evaluators: l.evaluators, namespace: namespace}
}

type podsOfNamespace struct {
	corev1listers.PodNamespaceLister
	evaluators evaluators
	namespace  string
}

// Get implements corev1listers.PodNamespaceLister.
func (l podsOfNamespace) Get(name string) (*corev1.Pod, error) {
	r := l.evaluators.served(pods)
	if r == nil {
		return nil, apierrors.NewNotFound(pods, name)
	}
	pod, err := l.evaluators.cluster.Get(r.Version("v1"), l.namespace, name)
	if err != nil {
		return nil, err
	}
	return pod.(*corev1.Pod), nil
}

// served returns a resource in the registry; nil: there is none.
func (q evaluators) served(gr schema.GroupResource) *resource.Resource {
	r := q.cluster.Registry().Resource(gr.Group, gr.Resource)
	if r == nil || !r.Namespaced {
		return nil
	}
	return r
}

// lister lists the objects of a resource for an evaluator.
func (q evaluators) lister(resource schema.GroupVersionResource) (cache.GenericLister, error) {
	return storedLister{q, resource.GroupResource()}, nil
}

// placeholders lists as many empty objects as exist, for an evaluator that only counts.
func (q evaluators) placeholders(resource schema.GroupResource) generic.ListFuncByNamespace {
	return func(namespace string) ([]runtime.Object, error) {
		r := q.served(resource)
		if r == nil {
			return nil, nil
		}
		n, err := q.count(r, namespace)
		return make([]runtime.Object, n), err
	}
}

// storedLister lists the stored objects.
type storedLister struct {
	evaluators evaluators
	resource   schema.GroupResource
}

// List implements cache.GenericLister.
func (l storedLister) List(s labels.Selector) ([]runtime.Object, error) {
	return l.ByNamespace("").List(s)
}

// Get implements cache.GenericLister. Evaluators list only.
func (l storedLister) Get(name string) (runtime.Object, error) { return l.ByNamespace("").Get(name) }

// ByNamespace implements cache.GenericLister.
func (l storedLister) ByNamespace(namespace string) cache.GenericNamespaceLister {
	return storedNamespaceLister{l, namespace}
}

// storedNamespaceLister lists the stored objects of a namespace.
type storedNamespaceLister struct {
	storedLister
	namespace string
}

// List implements cache.GenericNamespaceLister. Evaluators ask for everything.
func (l storedNamespaceLister) List(labels.Selector) ([]runtime.Object, error) {
	r := l.evaluators.served(l.resource)
	if r == nil {
		return nil, nil
	}
	return l.evaluators.stored(r, l.namespace)
}

// Get implements cache.GenericNamespaceLister. Evaluators list only.
func (l storedNamespaceLister) Get(name string) (runtime.Object, error) {
	return nil, fmt.Errorf("%s %q cannot be read one by one", l.resource, name)
}

// passing is the clock of the cluster plus a nanosecond. A real server measures some time after a write. With a clock
// that stands still, as in a testing/synctest bubble, a grace period of 0 would not be over yet.
type passing struct {
	clock.RealClock
	now func() time.Time
}

// Now implements clock.PassiveClock.
func (p passing) Now() time.Time { return p.now().Add(1) }

// Since implements clock.PassiveClock.
func (p passing) Since(t time.Time) time.Duration { return p.Now().Sub(t) }
