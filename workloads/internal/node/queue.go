package node

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads/internal/pod"
)

// queue has the pods of a node to sync, in order. Its methods are safe for concurrent use.
type queue struct {
	work chan struct{} // has room for one: there is work

	mu         sync.Mutex
	uids       []types.UID
	queued     map[types.UID]bool
	arrived    map[types.UID]arrival
	refreshing map[types.UID]bool // pods whose volumes have changed sources
	everyPod   bool               // all pods are to be synced
	paused     bool               // no pod is synced
	resumed    bool               // it was paused, and not all pods were synced since
}

// arrival is a change of a pod that the goroutine of the node has not handled yet. The zero value is none.
type arrival struct {
	pod  *corev1.Pod
	gone bool
}

// task is a pod to sync.
type task struct {
	uid     types.UID
	arrival arrival
	refresh bool // of its volumes
}

func newQueue() queue {
	return queue{work: make(chan struct{}, 1), queued: map[types.UID]bool{}, arrived: map[types.UID]arrival{}, refreshing: map[types.UID]bool{}}
}

// change adds a pod that has changed.
func (q *queue) change(pod *corev1.Pod, gone bool) {
	q.mu.Lock()
	q.arrived[pod.UID] = arrival{pod: pod, gone: gone || q.arrived[pod.UID].gone}
	q.mu.Unlock()
	q.add(pod.UID)
}

// refresh adds pods whose volumes are to be updated.
func (q *queue) refresh(uids []types.UID) {
	q.mu.Lock()
	for _, uid := range uids {
		q.refreshing[uid] = true
	}
	q.mu.Unlock()
	for _, uid := range uids {
		q.add(uid)
	}
}

// add adds a pod.
func (q *queue) add(uid types.UID) {
	q.mu.Lock()
	q.push(uid)
	q.mu.Unlock()
	q.wake()
}

// push is called with the lock held.
func (q *queue) push(uid types.UID) {
	if !q.queued[uid] {
		q.queued[uid] = true
		q.uids = append(q.uids, uid)
	}
}

// begin adds pods while the queue is worked on.
func (q *queue) begin(uids []types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, uid := range uids {
		q.push(uid)
	}
}

// addAll adds all pods.
func (q *queue) addAll() {
	q.mu.Lock()
	q.everyPod = true
	q.mu.Unlock()
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.work <- struct{}{}:
	default:
	}
}

// pause stops the queue, or resumes it.
func (q *queue) pause(on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.resumed = q.resumed || q.paused && !on
	q.paused = on
}

// beginAll reports whether all pods are to be synced, which it resets, and whether this is the first time since the
// queue was paused.
func (q *queue) beginAll() (begins, resumed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.everyPod || q.paused {
		return false, false
	}
	resumed = q.resumed
	q.everyPod, q.resumed = false, false
	return true, resumed
}

// next removes and returns the first task. It returns false if there is none or the queue is paused.
func (q *queue) next() (task, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.uids) == 0 || q.paused {
		return task{}, false
	}
	uid := q.uids[0]
	q.uids = q.uids[1:]
	t := task{uid, q.arrived[uid], q.refreshing[uid]}
	delete(q.queued, uid)
	delete(q.arrived, uid)
	delete(q.refreshing, uid)
	return t, true
}

// sortFirst sorts the queue by [pod.CompareAdmission]. A pod that is queued for another reason than a change of its
// object, such as a change of its PodCertificateRequest, comes last: the node does not know it yet.
func (q *queue) sortFirst() {
	q.mu.Lock()
	defer q.mu.Unlock()
	slices.SortStableFunc(q.uids, func(a, b types.UID) int { return pod.CompareAdmission(q.arrived[a].pod, q.arrived[b].pod) })
}
