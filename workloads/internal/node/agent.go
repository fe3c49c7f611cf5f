package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/features"

	"github.com/fakecluster/fakecluster/internal/workloadconfig"
	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// Behavior is what the containers of some pods do.
type Behavior = workloadconfig.Behavior

// Config is what Start needs.
type Config struct {
	// Nodes are the nodes. What their specification leaves out is set by Start: see [Nodes].
	Nodes []*corev1.Node
	// StaticPods returns the static pods of a node, as they are in the files of its kubelet. nil: there are none.
	StaticPods func(*corev1.Node) []*corev1.Pod
	// Behaviors say what containers do. The first one that matches a container applies to it.
	Behaviors []Behavior
	// Runtimes start containers. The first one that has the image does. Default: all containers follow behaviors.
	Runtimes []Runtime
	// BuiltIn starts containers of images that are known, unless a runtime has them or a behavior says what they do. nil: there are none.
	BuiltIn Runtime
	// Script starts containers whose command the built-in shell knows, unless a runtime has their image or a behavior says what they do. nil: they
	// follow what can be read from the command.
	Script func(Container) Process
	// Notice gets sentences for the user: that the program of an image is not run. nil: they are dropped.
	Notice func(string)
	// Files are those of images, by patterns as those of behaviors. The first one that matches applies.
	Files []ImageFiles
	// OnlyKnownImages makes the pull of an image fail that neither a runtime nor Files have, and no behavior names.
	OnlyKnownImages bool
	// DNS is the address of the cluster's DNS, for /etc/resolv.conf. Default: 10.0.0.10.
	DNS string
	// Network connects the pods. The caller closes it after Wait. Default: pods are not connected.
	Network *network.Network
	// Seed determines all random delays.
	Seed uint64
	// Client returns a client that acts as a user.
	Client func(user string, groups ...string) (kubernetes.Interface, error)
	// Informers are shared with other programs of the cluster. The caller starts them after Start has returned.
	Informers informers.SharedInformerFactory
	// Revision returns the revision of the newest write to the cluster, and Faulty reports whether faults are in force.
	// With them, Leases are renewed as doc.go says; without them, by a write every 10 seconds.
	Revision func() int64
	Faulty   func() bool
	// Adopted is called with the kubelet of a node that is adopted. It must not block. nil: nothing is.
	Adopted func(kubelet.Node)
	// Attaches makes the agent record the Events of the controller of kube-controller-manager that attaches volumes, for those that nobody attaches.
	Attaches bool
	// Report is called with problems that leave a node or a pod without what it should be, such as a Node object that
	// the server rejects. It may be called by several goroutines.
	Report func(error)
}

// ImageFiles are the files of an image.
type ImageFiles struct {
	Image string // a pattern
	Files *files.Tree
}

// Agent runs nodes.
type Agent struct {
	config    Config
	nodes     atomic.Pointer[nodes]
	subnets   subnets
	lister    corelisters.NodeLister
	services  corelisters.ServiceLister
	requests  certificateslisters.PodCertificateRequestLister // nil: the feature is off
	behaviors *behaviors
	listed    <-chan struct{} // closed when the nodes have the pods that were there before
	beats     beats
	volumes   volumes
	attacher  *recorder // nil: another program attaches volumes
	wait      sync.WaitGroup

	mu       sync.Mutex
	reported map[string]bool // unknown images
	noticed  map[string]bool // images whose program is not run
	ended    bool            // no node is adopted any more
	awaited  *awaited        // by WaitReady
}

// Start registers the nodes and runs their pods until ctx is done. It returns an error at once if a node or a
// behavior is impossible.
func Start(ctx context.Context, config Config) (*Agent, error) {
	specs, err := complete(config.Nodes)
	if err != nil {
		return nil, err
	}
	config.DNS = cmp.Or(config.DNS, defaultDNS)
	a := &Agent{config: config, reported: map[string]bool{}, noticed: map[string]bool{}, lister: config.Informers.Core().V1().Nodes().Lister(),
		services: config.Informers.Core().V1().Services().Lister()}
	if a.behaviors, err = newBehaviors(config.Behaviors, a.servicesOf); err != nil {
		return nil, err
	}
	if config.Attaches {
		const group = "system:serviceaccounts"
		client, err := config.Client("system:serviceaccount:kube-system:attachdetach-controller", group, group+":kube-system", "system:authenticated")
		if err != nil {
			return nil, err
		}
		a.attacher = newRecorder("", client)
		a.attacher.component = "attachdetach-controller"
	}
	a.beats = beats{ctx: ctx, writing: make(chan struct{}, 1), last: time.Now()}
	a.subnets = newSubnets(specs)
	initial := &nodes{byName: map[string]*node{}}
	for i, spec := range specs {
		n, err := a.newNode(ctx, spec, i)
		if err != nil {
			return nil, err
		}
		initial = initial.with(n)
	}
	a.nodes.Store(initial)
	if err := a.follow(); err != nil {
		return nil, err
	}
	for _, n := range initial.list {
		a.wait.Go(func() { n.run(ctx) })
	}
	a.wait.Go(func() { a.heartbeats(ctx) })
	return a, nil
}

// Wait returns when the context of Start is done and nothing of the agent runs any more.
func (a *Agent) Wait() {
	<-a.beats.ctx.Done()
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	a.wait.Wait()
	if err := a.volumes.close(); err != nil {
		a.config.Report(fmt.Errorf("remove the folders of volumes: %w", err))
	}
}

// Unmatched returns the behaviors that have not applied to any container.
func (a *Agent) Unmatched() []Behavior {
	return a.behaviors.unmatched()
}

// follow hands the changes of pods and nodes to the nodes that they concern.
func (a *Agent) follow() error {
	pods, err := a.config.Informers.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.pod(object, false) },
		UpdateFunc: func(_, object any) { a.pod(object, false) },
		DeleteFunc: func(object any) { a.pod(object, true) },
	})
	if err != nil {
		return fmt.Errorf("follow pods: %w", err)
	}
	a.listed = pods.HasSyncedChecker().Done()
	_, err = a.config.Informers.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.nodeChanged(object); a.checkReady() },
		UpdateFunc: func(before, after any) { a.nodeUpdated(before, after); a.checkReady() },
		DeleteFunc: func(object any) { a.nodeChanged(object) },
	})
	if err != nil {
		return fmt.Errorf("follow nodes: %w", err)
	}
	if err := a.followRequests(); err != nil {
		return fmt.Errorf("follow requests for certificates: %w", err)
	}
	sources := map[string]cache.SharedIndexInformer{
		"configmap": a.config.Informers.Core().V1().ConfigMaps().Informer(),
		"secret":    a.config.Informers.Core().V1().Secrets().Informer(),
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.ClusterTrustBundle) { // they are served
		sources["trustbundle"] = a.config.Informers.Certificates().V1().ClusterTrustBundles().Informer()
	}
	for kind, informer := range sources {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { a.source(kind, object) },
			UpdateFunc: func(_, object any) { a.source(kind, object) },
			DeleteFunc: func(object any) { a.source(kind, object) },
		}); err != nil {
			return fmt.Errorf("follow the sources of volumes: %w", err)
		}
	}
	return nil
}

// followRequests hands the answers to requests for certificates to the pods, if the feature is on.
func (a *Agent) followRequests() error {
	if !utilfeature.DefaultFeatureGate.Enabled(features.PodCertificateRequest) {
		return nil
	}
	requests := a.config.Informers.Certificates().V1().PodCertificateRequests()
	a.requests = requests.Lister()
	changed := func(object any) {
		if request, ok := lastState(object).(*certificatesv1.PodCertificateRequest); ok {
			if n := a.node(string(request.Spec.NodeName)); n != nil {
				n.enqueue(request.Spec.PodUID)
			}
		}
	}
	_, err := requests.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed,
	})
	return err
}

// source has the volumes brought up to date that have files of an object.
func (a *Agent) source(kind string, object any) {
	if object, ok := lastState(object).(metav1.Object); ok {
		key := kind + "/" + object.GetName()
		if kind == "trustbundle" {
			key = kind
		}
		for _, n := range a.nodes.Load().list {
			n.sourceChanged(object.GetNamespace(), key)
		}
	}
}

// lastState returns the object that an informer hands on. Of one whose delete the informer has missed, it is the last known state.
func lastState(object any) any {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return unknown.Obj
	}
	return object
}

func (a *Agent) pod(object any, gone bool) {
	if pod, ok := lastState(object).(*corev1.Pod); ok {
		if n := a.node(pod.Spec.NodeName); n != nil {
			n.podChanged(pod, gone)
		}
	}
}

// nodeChanged has a node act on a Node object that is new or gone, and adopts one that is new.
func (a *Agent) nodeChanged(object any) {
	if object, ok := lastState(object).(*corev1.Node); ok {
		if n := a.node(object.Name); n != nil {
			n.enqueueAll()
		} else if _, err := a.lister.Get(object.Name); err == nil {
			a.adopt(object)
		}
	}
}

// nodeUpdated has a node obey its annotation, and adopts one that has been annotated.
func (a *Agent) nodeUpdated(before, after any) {
	former, current := before.(*corev1.Node), after.(*corev1.Node)
	n := a.node(current.Name)
	if n == nil {
		a.adopt(current)
	} else if former.Annotations[HeartbeatsAnnotation] != current.Annotations[HeartbeatsAnnotation] {
		n.wake()
	}
}

// start starts the process of a container.
func (a *Agent) start(c Container) Process {
	for _, r := range a.config.Runtimes {
		if r.Has(c.Spec.Image) {
			return r.Start(c)
		}
	}
	if a.isBuiltIn(c.Pod, c.Spec) {
		return a.config.BuiltIn.Start(c)
	}
	if c.Files != nil && a.runsScript(c.Pod, c.Spec, c.Files.ReadFile) {
		return a.config.Script(c)
	}
	return startSimulated(a.plan(c.Pod, c.Spec, c.Kind, c.Attempt), c)
}

// plan makes the plan for a start of a container.
func (a *Agent) plan(pod *corev1.Pod, spec *corev1.Container, kind ContainerKind, attempt int) plan {
	b := a.behaviors.behaviorOf(pod, spec)
	p := planFor(a.config.Seed, b, pod, spec, kind, attempt)
	if a.config.OnlyKnownImages && b == nil && !a.hasFunction(spec) && !a.isBuiltIn(pod, spec) && a.imageFiles(spec.Image) == nil {
		name := imageName(spec.Image)
		p.pullError = fmt.Sprintf("rpc error: code = NotFound desc = failed to pull and unpack image %q: failed to resolve reference %q: %s: not found", name, name, name)
		a.unknown(pod, spec)
	}
	return p
}

// notice says once for each image that its program is not run, if that makes a difference: the container is to complete.
func (p *pod) notice(ctx context.Context, spec *corev1.Container) {
	a, kind := p.node.agent, kindOf(p.api, spec.Name)
	completes := kind == Init || kind == Main && p.api.Spec.RestartPolicy != corev1.RestartPolicyAlways
	_, simulated := p.latest(spec.Name).process.(*simulated)
	if b := a.behaviors.behaviorOf(p.api, spec); !completes || a.config.Notice == nil || pauses(spec) || !simulated || b != nil && b.Decides() {
		return
	}
	a.mu.Lock()
	first := !a.noticed[spec.Image]
	a.noticed[spec.Image] = true
	a.mu.Unlock()
	if !first {
		return
	}
	sentence := fmt.Sprintf("the program of the image %s is not run: the container completes with exit code 0. A function, a program of this machine or a behavior says what it does", spec.Image)
	p.node.events.container(ctx, p.api, spec, corev1.EventTypeNormal, "ProgramNotRun", "fakecluster: %s", sentence)
	a.config.Notice(fmt.Sprintf("container %s of pod %s: %s", spec.Name, p.key(), sentence))
}

// unknown reports an image without a function or behavior, once.
func (a *Agent) unknown(pod *corev1.Pod, spec *corev1.Container) {
	a.mu.Lock()
	first := !a.reported[spec.Image]
	a.reported[spec.Image] = true
	a.mu.Unlock()
	if first {
		subject := "container " + spec.Name
		if spec.Name == "" {
			subject = "a volume"
		}
		a.config.Report(fmt.Errorf("OnlyKnownImages: %s of pod %s/%s has the image %s, for which there is neither an Image nor a Behavior",
			subject, pod.Namespace, pod.Name, spec.Image))
	}
}

// hasCode reports whether something of a container is run: its image has a function or a program, or its command is known.
func (a *Agent) hasCode(pod *corev1.Pod, spec *corev1.Container) bool {
	return a.hasFunction(spec) || a.isBuiltIn(pod, spec) || a.runsScript(pod, spec, unmounted(pod, spec, a.imageFiles(spec.Image) != nil))
}

// runsScript reports whether the built-in shell runs the command of a container whose image has no function. read returns the files of the container.
func (a *Agent) runsScript(pod *corev1.Pod, spec *corev1.Container, read func(string) ([]byte, error)) bool {
	if a.config.Script == nil || pauses(spec) || !shell.Knows(slices.Concat(withEntrypoint(spec), spec.Args), read) {
		return false
	}
	return !a.isDecided(pod, spec)
}

// isBuiltIn reports whether a container has the function of a built-in image.
func (a *Agent) isBuiltIn(pod *corev1.Pod, spec *corev1.Container) bool {
	return a.config.BuiltIn != nil && a.config.BuiltIn.Has(spec.Image) && !a.isDecided(pod, spec)
}

// isDecided reports whether a behavior says what a container does.
func (a *Agent) isDecided(pod *corev1.Pod, spec *corev1.Container) bool {
	b := a.behaviors.behaviorOf(pod, spec)
	return b != nil && b.Decides()
}

// AllowsAdmission reports whether a behavior has the webhooks allow everything that a pod is to serve.
func (a *Agent) AllowsAdmission(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(spec corev1.Container) bool {
		b := a.behaviors.behaviorOf(pod, &spec)
		return b != nil && b.Admission == workloadconfig.AllowAdmission
	})
}

// RunsProgram reports whether something of a pod is run.
func (a *Agent) RunsProgram(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(spec corev1.Container) bool { return a.hasCode(pod, &spec) })
}

// servicesOf returns the names of the Services that select a pod.
func (a *Agent) servicesOf(pod *corev1.Pod) []string {
	services, _ := a.services.Services(pod.Namespace).List(labels.Everything()) // of a cache, which does not fail
	var names []string
	for _, s := range services {
		if len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			names = append(names, s.Name)
		}
	}
	return names
}

// unmounted returns the files of a container whose volumes are not mounted yet: what lies in a volume that may have scripts is one in which everything
// is known. So does what the image has, if it has files. Whether that is so is seen when the container starts.
func unmounted(pod *corev1.Pod, spec *corev1.Container, hasImage bool) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		for _, m := range spec.VolumeMounts {
			if name != m.MountPath && !strings.HasPrefix(name, strings.TrimSuffix(m.MountPath, "/")+"/") {
				continue
			}
			for _, v := range pod.Spec.Volumes {
				if v.Name == m.Name && (v.ConfigMap != nil || v.Secret != nil || v.Projected != nil || v.EmptyDir != nil || v.DownwardAPI != nil) {
					return nil, nil
				}
			}
		}
		if hasImage || slices.Contains([]string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}, name) {
			return nil, nil
		}
		return nil, fs.ErrNotExist
	}
}

// hasFunction reports whether a runtime has the image of a container.
func (a *Agent) hasFunction(spec *corev1.Container) bool {
	return slices.ContainsFunc(a.config.Runtimes, func(r Runtime) bool { return r.Has(spec.Image) })
}

// imageFiles returns the files of an image, or nil if it has none.
func (a *Agent) imageFiles(image string) *files.Tree {
	for _, f := range a.config.Files {
		if workloadconfig.MatchesImage(f.Image, image) {
			return f.Files
		}
	}
	return nil
}

// filesOf returns a tree with the files of an image, which belongs to the caller.
func (a *Agent) filesOf(image string) *files.Tree {
	if tree := a.imageFiles(image); tree != nil {
		return tree.Clone()
	}
	return files.NewTree()
}

// Node returns a node, and an error that lists the nodes that exist if it does not.
func (a *Agent) Node(name string) (*Node, error) {
	if n := a.node(name); n != nil {
		return &Node{n}, nil
	}
	names := make([]string, 0, len(a.nodes.Load().list))
	for _, n := range a.nodes.Load().list {
		names = append(names, n.name)
	}
	return nil, fmt.Errorf("node %q does not exist; the nodes are %v", name, names)
}

// behaviors are the behaviors of an agent, and which of them have applied.
type behaviors struct {
	list     []Behavior
	services func(*corev1.Pod) []string
	mu       sync.Mutex
	used     []bool
}

func newBehaviors(list []Behavior, services func(*corev1.Pod) []string) (*behaviors, error) {
	var errs []error
	for i := range list {
		if err := list[i].Validate(); err != nil {
			errs = append(errs, fmt.Errorf("the behavior of %s: %w", list[i], err))
		}
	}
	return &behaviors{list: slices.Clone(list), services: services, used: make([]bool, len(list))}, errors.Join(errs...)
}

// behaviorOf returns the behavior that applies to a container, and nil if none does.
func (b *behaviors) behaviorOf(pod *corev1.Pod, spec *corev1.Container) *Behavior {
	for i := range b.list {
		if b.list[i].Matches(pod, spec, b.services) {
			b.mu.Lock()
			b.used[i] = true
			b.mu.Unlock()
			return &b.list[i]
		}
	}
	return nil
}

func (b *behaviors) unmatched() []Behavior {
	b.mu.Lock()
	defer b.mu.Unlock()
	var unmatched []Behavior
	for i, used := range b.used {
		if !used {
			unmatched = append(unmatched, b.list[i])
		}
	}
	return unmatched
}
