package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// evictAgain is the time after which kubectl drain retries the eviction of a pod that a PodDisruptionBudget protects.
const evictAgain = 5 * time.Second

// Drain cordons the node, evicts its pods and waits until they are gone, as kubectl drain --ignore-daemonsets
// --delete-emptydir-data --force does. Pods of DaemonSets, and pods that have ended, stay. A pod that a
// PodDisruptionBudget protects is evicted again every 5 seconds. If ctx ends first, the error names the pods that are
// left.
func (n *Node) Drain(ctx context.Context) error {
	if err := n.Cordon(ctx); err != nil {
		return err
	}
	admin, err := n.admin()
	if err != nil {
		return err
	}
	selection := metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.node.name}
	list, err := admin.CoreV1().Pods("").List(ctx, selection)
	if err != nil {
		return err
	}
	left := map[types.UID]*corev1.Pod{}
	for i := range list.Items {
		if pod := &list.Items[i]; drains(pod) {
			left[pod.UID] = pod
		}
	}
	selection.ResourceVersion = list.ResourceVersion
	changes, err := admin.CoreV1().Pods("").Watch(ctx, selection)
	if err != nil {
		return err
	}
	defer changes.Stop()
	protected, err := evict(ctx, admin, left, nil)
	for err == nil && len(left) > 0 {
		var again <-chan time.Time
		if len(protected) > 0 {
			again = time.After(evictAgain)
		}
		select {
		case e, ok := <-changes.ResultChan():
			if !ok {
				err = errors.New("the watch of pods has ended")
			} else if pod, isPod := e.Object.(*corev1.Pod); isPod && e.Type == watch.Deleted {
				delete(left, pod.UID)
			}
		case <-again:
			protected, err = evict(ctx, admin, left, protected)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil { // the error of a request that it has ended is longer
		err = ctx.Err()
	}
	var names []string
	for _, pod := range left {
		names = append(names, pod.Namespace+"/"+pod.Name)
	}
	slices.Sort(names)
	return fmt.Errorf("drain node %s: %w; remaining pods: %v", n.node.name, err, names)
}

// drains reports whether a drain evicts the pod.
func drains(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return !mirror && !podutil.IsPodTerminal(pod) && (owner == nil || owner.Kind != "DaemonSet")
}

// evict evicts pods, and returns those that a PodDisruptionBudget protects. If only is not nil, it evicts only the pods
// in it.
func evict(ctx context.Context, admin kubernetes.Interface, pods, only map[types.UID]*corev1.Pod) (map[types.UID]*corev1.Pod, error) {
	protected := map[types.UID]*corev1.Pod{}
	for uid, pod := range pods {
		if _, wanted := only[uid]; only != nil && !wanted {
			continue
		}
		err := admin.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))},
		})
		switch {
		case apierrors.IsTooManyRequests(err):
			protected[uid] = pod
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
			delete(pods, uid) // it is gone, or another pod of the name is there
		case err != nil:
			return nil, err
		}
	}
	return protected, nil
}
