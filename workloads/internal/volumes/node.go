package volumes

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/recorder"
)

// Config configures NewNode.
type Config struct {
	// IP is the address of the node.
	IP string
	// Spec is the Node as it is registered, with its name and its allocatable resources.
	Spec *corev1.Node
	// Client acts as the node.
	Client kubernetes.Interface
	// Object returns the Node object; nil: it does not exist.
	Object func() *corev1.Node
	// Requests has the PodCertificateRequests; nil: the feature is off.
	Requests certificateslisters.PodCertificateRequestLister
	// Files returns a tree with the files of an image, which belongs to the caller.
	Files func(image string) *files.Tree
	// Store has the volumes that outlive pods.
	Store *Store
	// Events records Events of the node, and Attacher those of attachdetach-controller. Attacher is nil if another
	// program attaches volumes.
	Events, Attacher *recorder.Recorder
	// Report is called with errors of files.
	Report func(error)
	// Logger logs errors that are retried.
	Logger klog.Logger
	// Seed determines all random delays.
	Seed uint64
	// Go runs a function on a goroutine that the node waits for.
	Go func(func())
	// Enqueue queues a pod to be synced. It is safe for concurrent use.
	Enqueue func(types.UID)
}

// Node has the state that the volumes of the pods of a node share. It belongs to the goroutine of the node.
type Node struct {
	// Sources are the sources of the volumes of pods.
	Sources  Sources
	config   Config
	hasFiles bool // at first
}

// NewNode returns a node without pods.
func NewNode(config Config) *Node {
	return &Node{config: config}
}
