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

// Config is what NewNode needs.
type Config struct {
	// IP is the address of the node.
	IP string
	// Spec is the Node as it is registered: its name, and what pods may use of it.
	Spec *corev1.Node
	// Client acts as the node.
	Client kubernetes.Interface
	// Object returns the Node object; nil: it is not there.
	Object func() *corev1.Node
	// Requests has the requests for certificates of pods. nil: the feature is off.
	Requests certificateslisters.PodCertificateRequestLister
	// Files returns a tree with the files of an image, which belongs to the caller.
	Files func(image string) *files.Tree
	// Store has the volumes that outlive pods.
	Store *Store
	// Events records Events of the node, and Attacher those of the controller that attaches volumes. Attacher is nil: another program attaches volumes.
	Events, Attacher *recorder.Recorder
	// Report is called with problems of files.
	Report func(error)
	// Logger gets what is tried again.
	Logger klog.Logger
	// Seed determines all random delays.
	Seed uint64
	// Go runs a function on a goroutine that the node waits for.
	Go func(func())
	// Enqueue has a pod synced. It is safe for concurrent use.
	Enqueue func(types.UID)
}

// Node has what the volumes of the pods of a node share. It belongs to the goroutine of the node.
type Node struct {
	// Sources are what the volumes of pods come from.
	Sources  Sources
	config   Config
	hasFiles bool // at first
}

// NewNode returns a node without pods.
func NewNode(config Config) *Node {
	return &Node{config: config}
}
