package pod

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"

	"github.com/fakecluster/fakecluster/workloads/internal/seeded"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
)

// Static pods come from the manifest files of a kubelet instead of the API server. For each the kubelet creates a mirror
// pod, which shows it to clients. If a client deletes the mirror pod, the containers go on, and the kubelet creates
// another mirror pod.

// static are the static pods of a node, by namespace and name. It belongs to the goroutine of the node.
type static struct {
	specs   map[string]*corev1.Pod // the mirror pods as they are created
	pods    map[string]*Pod
	missing map[string]bool // mirror pods that have to be created
	// mirrored has the static pods by the uids of their mirror pods, except the first ones.
	mirrored map[types.UID]*Pod
	retryAt  time.Time
	timer    *time.Timer
}

// seenFormat is the format of the time at which a kubelet has first seen a static pod.
const seenFormat = "2006-01-02T15:04:05.000000000Z07:00"

// newStatic returns the static pods of the files of a kubelet.
func newStatic(node string, files []*corev1.Pod, now time.Time) static {
	s := static{specs: map[string]*corev1.Pod{}, pods: map[string]*Pod{}, missing: map[string]bool{}, mirrored: map[types.UID]*Pod{}}
	for _, file := range files {
		data, _ := json.Marshal(file) // of a type of the API, which does not fail
		hash := seeded.Digest("static", node, string(data))[:32]
		spec := file.DeepCopy()
		spec.Name += "-" + node
		spec.Spec.NodeName = node
		if spec.Annotations == nil {
			spec.Annotations = map[string]string{}
		}
		maps.Copy(spec.Annotations, map[string]string{
			kubetypes.ConfigHashAnnotationKey: hash, kubetypes.ConfigMirrorAnnotationKey: hash,
			kubetypes.ConfigFirstSeenAnnotationKey: now.Format(seenFormat), kubetypes.ConfigSourceAnnotationKey: kubetypes.FileSource,
		})
		v1helper.AddOrUpdateTolerationInPodSpec(&spec.Spec, &corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
		s.specs[spec.Namespace+"/"+spec.Name] = spec
		s.missing[spec.Namespace+"/"+spec.Name] = true
	}
	return s
}

// mirrors reports whether a pod mirrors a static pod of the node.
func (s *static) mirrors(api *corev1.Pod) bool {
	spec := s.specs[api.Namespace+"/"+api.Name]
	return spec != nil && api.Annotations[kubetypes.ConfigMirrorAnnotationKey] == spec.Annotations[kubetypes.ConfigMirrorAnnotationKey]
}

// outlived reports whether a pod is a former mirror pod of a static pod, which has another one now.
func (s *static) outlived(api *corev1.Pod) bool {
	return s.mirrors(api) && s.pods[api.Namespace+"/"+api.Name] != nil
}

// CreateMirrors creates the mirror pods that are missing. Without a Node object, which owns them, there are none.
func (n *Node) CreateMirrors(ctx context.Context) {
	now := time.Now()
	if len(n.static.missing) == 0 || now.Before(n.static.retryAt) {
		return
	}
	owner := n.config.Object()
	if owner == nil || owner.DeletionTimestamp != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(n.static.missing)) {
		created, err := n.createMirror(ctx, key, owner)
		if err != nil {
			n.config.Logger.V(2).Info("A mirror pod is not created yet", "pod", key, "err", err)
			n.static.retryAt = now.Add(timing.RetryPeriod)
			if n.static.timer != nil {
				n.static.timer.Stop()
			}
			n.static.timer = time.AfterFunc(timing.RetryPeriod, n.config.Wake)
			return
		}
		delete(n.static.missing, key)
		if p := n.static.pods[key]; p != nil {
			p.mirror(created)
		}
	}
}

// createMirror creates a mirror pod, and replaces that of another static pod.
func (n *Node) createMirror(ctx context.Context, key string, owner *corev1.Node) (*corev1.Pod, error) {
	spec := n.static.specs[key].DeepCopy()
	spec.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: owner.Name, UID: owner.UID, Controller: new(true)}}
	pods := n.config.Client.CoreV1().Pods(spec.Namespace)
	created, err := pods.Create(ctx, spec, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return created, err
	}
	present, err := pods.Get(ctx, spec.Name, metav1.GetOptions{})
	if err != nil || n.static.mirrors(present) && present.DeletionTimestamp == nil {
		return present, err
	}
	if err := deleteMirror(ctx, n, present); err != nil {
		return nil, err
	}
	return pods.Create(ctx, spec, metav1.CreateOptions{})
}

// deleteMirror deletes a mirror pod at once.
func deleteMirror(ctx context.Context, n *Node, api *corev1.Pod) error {
	err := n.config.Client.CoreV1().Pods(api.Namespace).Delete(ctx, api.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(api.UID)),
	})
	if isGone(err) {
		return nil
	}
	return err
}

// unmirror replaces the mirror pod of a static pod if it is deleted, or being deleted.
func (p *Pod) unmirror(ctx context.Context, now time.Time) {
	if !p.gone {
		if err := deleteMirror(ctx, p.node, p.api); err != nil {
			p.starts.again = now.Add(timing.RetryPeriod)
			return
		}
		p.gone = true
	}
	p.node.static.missing[p.key()] = true
}

// mirror gives a static pod another mirror pod. Its containers go on.
func (p *Pod) mirror(api *corev1.Pod) {
	if api.UID == p.api.UID {
		return
	}
	delete(p.node.static.mirrored, p.api.UID)
	p.node.static.mirrored[api.UID] = p
	p.take(api)
	p.gone, p.report.unwritten, p.starts.dirty = false, true, true
	p.node.config.Enqueue(p.uid)
}
