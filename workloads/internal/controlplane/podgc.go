package controlplane

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	apipod "k8s.io/kubernetes/pkg/api/v1/pod"
	nodeutil "k8s.io/kubernetes/pkg/util/node"
	utilpod "k8s.io/kubernetes/pkg/util/pod"
	"k8s.io/kubernetes/pkg/util/taints"
)

const (
	podGCPeriod     = 20 * time.Second
	podGCQuarantine = 40 * time.Second
	// podGCThreshold is the maximum of finished Pods that stay.
	podGCThreshold = 12500
)

// podCollector does the same as the controller of pkg/controller/podgc, which for one comparison imports the kubelet's
// eviction manager, and so 130 packages. Like it, podCollector checks the Pods every 20 seconds, but only if something
// has changed since.
type podCollector struct {
	client kubernetes.Interface
	pods   corev1listers.PodLister
	nodes  corev1listers.NodeLister
	synced []cache.InformerSynced

	changed chan struct{} // has a value if something has changed
	// missing has the Nodes of Pods that do not exist, and the ends of their quarantines.
	missing map[string]time.Time
}

func podGC(b *builder) (runFunc, error) {
	client, err := b.client("pod-garbage-collector")
	if err != nil {
		return nil, err
	}
	pods, nodes := b.informers.Core().V1().Pods(), b.informers.Core().V1().Nodes()
	g := &podCollector{client: client, pods: pods.Lister(), nodes: nodes.Lister(), changed: make(chan struct{}, 1), missing: map[string]time.Time{}}
	for _, informer := range []cache.SharedIndexInformer{pods.Informer(), nodes.Informer()} {
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { g.wake() }, UpdateFunc: func(any, any) { g.wake() }, DeleteFunc: func(any) { g.wake() },
		})
		if err != nil {
			return nil, err
		}
		g.synced = append(g.synced, registration.HasSynced)
	}
	return g.run, nil
}

func (g *podCollector) wake() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

func (g *podCollector) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), g.synced...) {
		return
	}
	start := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.changed:
		}
		g.collect(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(podGCPeriod - time.Since(start)%podGCPeriod):
		}
	}
}

// collect deletes all Pods to collect.
func (g *podCollector) collect(ctx context.Context) {
	pods, err := g.pods.List(labels.Everything())
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Listing Pods failed")
		return
	}
	g.deleteAll(ctx, g.finished(pods), nil)
	g.deleteAll(ctx, selected(pods, g.isOutOfService), nil)
	gone := g.goneNodes(ctx, pods)
	g.deleteAll(ctx, selected(pods, func(pod *corev1.Pod) bool { return gone[pod.Spec.NodeName] }), func(pod *corev1.Pod) *corev1.PodCondition {
		return &corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists",
			ObservedGeneration: apipod.CalculatePodConditionObservedGeneration(&pod.Status, pod.Generation, corev1.DisruptionTarget),
		}
	})
	g.deleteAll(ctx, selected(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil && pod.Spec.NodeName == "" }), nil)
}

func selected(pods []*corev1.Pod, matches func(*corev1.Pod) bool) []*corev1.Pod {
	var found []*corev1.Pod
	for _, pod := range pods {
		if matches(pod) {
			found = append(found, pod)
		}
	}
	return found
}

// finished returns the finished Pods beyond the threshold: evicted ones first, then the oldest.
func (g *podCollector) finished(pods []*corev1.Pod) []*corev1.Pod {
	finished := selected(pods, isFinished)
	excess := len(finished) - podGCThreshold
	if excess <= 0 {
		return nil
	}
	evicted := func(pod *corev1.Pod) int {
		if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "Evicted" {
			return 0
		}
		return 1
	}
	slices.SortFunc(finished, func(a, b *corev1.Pod) int {
		return cmp.Or(evicted(a)-evicted(b), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return finished[:excess]
}

func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// isOutOfService reports whether a Pod is terminating on a Node that is not ready and has the taint out-of-service.
func (g *podCollector) isOutOfService(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	node, err := g.nodes.Get(pod.Spec.NodeName)
	return err == nil && !nodeutil.IsNodeReady(node) && taints.TaintKeyExists(node.Spec.Taints, corev1.TaintNodeOutOfService)
}

// goneNodes returns the Nodes of Pods that do not exist and whose quarantine is over.
func (g *podCollector) goneNodes(ctx context.Context, pods []*corev1.Pod) map[string]bool {
	gone, named := map[string]bool{}, map[string]bool{}
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if name == "" || named[name] {
			continue
		}
		named[name] = true
		if _, err := g.nodes.Get(name); !apierrors.IsNotFound(err) {
			delete(g.missing, name)
			continue
		}
		until, ok := g.missing[name]
		switch {
		case !ok:
			g.missing[name] = time.Now().Add(podGCQuarantine)
		case time.Now().Before(until):
		default:
			_, err := g.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			gone[name] = apierrors.IsNotFound(err)
		}
		g.wake() // check it again in the next round
	}
	for name := range g.missing {
		if !named[name] {
			delete(g.missing, name)
		}
	}
	return gone
}

// deleteAll deletes Pods without a grace period. A Pod that has not finished first gets the phase Failed, with a
// condition if there is one.
func (g *podCollector) deleteAll(ctx context.Context, pods []*corev1.Pod, condition func(*corev1.Pod) *corev1.PodCondition) {
	var deleting sync.WaitGroup
	for _, pod := range pods {
		deleting.Go(func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			if err := g.delete(ctx, pod, condition); err != nil && !apierrors.IsNotFound(err) {
				utilruntime.HandleErrorWithContext(ctx, err, "Deleting a Pod failed")
				g.wake()
			}
		})
	}
	deleting.Wait()
}

func (g *podCollector) delete(ctx context.Context, pod *corev1.Pod, condition func(*corev1.Pod) *corev1.PodCondition) error {
	if !isFinished(pod) {
		status := pod.Status.DeepCopy()
		status.Phase = corev1.PodFailed
		status.ObservedGeneration = apipod.CalculatePodStatusObservedGeneration(pod)
		if condition != nil {
			apipod.UpdatePodCondition(status, condition(pod))
		}
		if _, _, _, err := utilpod.PatchPodStatus(ctx, g.client, pod.Namespace, pod.Name, pod.UID, pod.Status, *status); err != nil {
			return err
		}
	}
	return g.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))
}
