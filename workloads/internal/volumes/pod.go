package volumes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/seeded"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
)

// Pod has the volumes of a pod on a node. It belongs to the goroutine of the node, except for the files, which
// containers use concurrently.
type Pod struct {
	node *Node
	uid  types.UID   // for the node
	api  *corev1.Pod // read-only

	mounted  bool
	mount    timing.Retry // of the volumes
	contents bool         // the volumes have contents; set by Mount and Fill

	volumes  map[string]*files.Tree // by name
	payloads map[string]payload     // by name: the files that come from the API
	trees    []*files.Tree          // trees that end with the pod
	refresh  time.Time              // when to update volumes
	stale    bool                   // their sources have changed
	synced   time.Time              // the last sync of the pod

	bound        map[string]*corev1.PersistentVolume // by the name of the volume
	attachments  map[types.UID]*timing.Retry         // of volumes that are not attached
	tokens       map[string]token
	certificates map[certificateSource]*certificate

	storage storage
}

// NewPod returns the volumes of a pod. None is mounted.
func (n *Node) NewPod(api *corev1.Pod) *Pod {
	return &Pod{
		node: n, uid: api.UID, api: api, volumes: map[string]*files.Tree{}, payloads: map[string]payload{},
		bound: map[string]*corev1.PersistentVolume{}, attachments: map[types.UID]*timing.Retry{},
		tokens: map[string]token{}, certificates: map[certificateSource]*certificate{},
	}
}

// SetPod replaces the version of the pod.
func (p *Pod) SetPod(api *corev1.Pod) { p.api = api }

// RecordSync records the time of a sync of the pod. A kubelet syncs it again a minute later: see [Pod.Outdate].
func (p *Pod) RecordSync(now time.Time) { p.synced = now }

// MarkMounted records that a former agent has mounted all volumes. [Pod.Mount] does nothing from then on.
func (p *Pod) MarkMounted() { p.mounted = true }

// Next returns the time of the next due action on the volumes; zero: none.
func (p *Pod) Next(now time.Time) time.Time {
	next := timing.Earlier(time.Time{}, p.mount.Time, now)
	next = timing.Earlier(next, p.refresh, now)
	return timing.Earlier(next, p.certificatesDue(now), now)
}

func (p *Pod) key() string { return p.api.Namespace + "/" + p.api.Name }

func (p *Pod) durations() seeded.Durations {
	return seeded.Durations{Seed: p.node.config.Seed, Key: p.key()}
}
