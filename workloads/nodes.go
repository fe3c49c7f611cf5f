package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads/internal/container"
	"github.com/fakecluster/fakecluster/workloads/internal/controlplane"
	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/images"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
)

// Behavior describes what some containers do: how long they take to start and to become ready, when and how
// they exit, which resources they use. It selects the containers by image, labels, owner and names. The zero
// value of a field is its default.
type Behavior = cri.Behavior

// Node controls a Node of the cluster, to test what happens to Nodes in real clusters: its heartbeats stop,
// it reports pressure, or it is cordoned, drained or deleted.
type Node = node.Node

// Nodes runs n Nodes, named n1, n2 and so on, in two zones, with 8 CPUs, 32 GiB of memory and 110 Pods each.
// They renew their Leases and run the Pods that are bound to them: see [Behaviors]. PersistentVolumeClaims
// get volumes of the default StorageClass "standard", unless the cluster has another default. The usage of
// Nodes and Pods is served as metrics.k8s.io/v1beta1, unless the cluster has an APIService for it whose
// server answers. n < 1 is an error of Run.
//
// Default: there are no Nodes, and Pods stay Pending.
func Nodes(n int) Option {
	return once("Nodes", func(s *settings) {
		s.nodes = append(s.nodes, node.Nodes(n)...)
		if n < 1 {
			s.wrong = append(s.wrong, fmt.Errorf("Nodes(%d): there has to be at least one; leave the option out for none", n))
		}
	})
}

// NodeObjects runs Nodes with these names, labels, taints and capacities. Fields that are not set have the
// values of [Nodes]. An invalid Node, such as one with a negative capacity, is an error of Run.
func NodeObjects(nodes ...*corev1.Node) Option {
	return once("NodeObjects", func(s *settings) { s.nodes = append(s.nodes, nodes...) })
}

// ControlPlane adds the control plane of a kind cluster. A Node "control-plane" has the label
// node-role.kubernetes.io/control-plane and its taint, and runs the static Pods etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler. In kube-system, CoreDNS runs behind
// the Service kube-dns, and kube-proxy on each Node. Nodes of [NodeObjects] that have the label
// take the place of the additional one. The Pods run no program: fakecluster does their work, and
// its DNS answers at the address of kube-dns.
//
// Default: kube-system has only the objects that the API server creates.
func ControlPlane() Option {
	return once("ControlPlane", func(s *settings) { s.controlPlane = true })
}

// Provisioners provision volumes for the claims of StorageClasses with these provisioners, such as
// "ebs.csi.aws.com", as for claims of the default class: at once, on a Node. "*" means every
// provisioner. "fakecluster.io/volume", and "rancher.io/local-path" of kind, are always
// provisioned.
//
// Default: such claims stay Pending, with an Event that they wait for the provisioner.
func Provisioners(names ...string) Option {
	return once("Provisioners", func(s *settings) { s.provisioners = names })
}

// Behaviors describes what containers do; the first behavior that selects a container applies. The test fails
// if a behavior has selected no container by its end.
//
// Default: an image starts within the second. A command that the built-in shell knows is run: sleep, sh -c
// with such commands, and others. Otherwise the container becomes ready, and runs until the Pod is deleted;
// containers of Pods whose restartPolicy is Never or OnFailure exit with 0 after a second, and [Notices] gets
// a notice.
func Behaviors(behaviors ...Behavior) Option {
	return once("Behaviors", func(s *settings) { s.behaviors = behaviors })
}

// Node returns a Node of [Nodes] or [NodeObjects]. The error for another name lists them.
func (w *Workloads) Node(name string) (*Node, error) {
	if w.agent == nil {
		return nil, fmt.Errorf("node %q does not exist: neither Nodes nor NodeObjects is given", name)
	}
	return w.agent.Node(name)
}

// beat returns when a Node last renewed its Lease, and how often: see [node.Agent.Beat].
func (w *Workloads) beat(name string) (last time.Time, beats, found bool) {
	if w.agent == nil {
		return time.Time{}, false, false
	}
	return w.agent.Beat(name)
}

// needNodes returns an error for an option that has no effect without Nodes.
func (s *settings) needNodes() error {
	switch {
	case len(s.nodes) > 0:
	case len(s.behaviors) > 0:
		return errors.New("Behaviors: there are no Nodes; add Nodes(3)")
	case s.controlPlane:
		return errors.New("ControlPlane: there are no Nodes; add Nodes(1)")
	case len(s.provisioners) > 0:
		return errors.New("Provisioners: there are no Nodes; add Nodes(1)")
	case len(s.images) > 0 || len(s.files) > 0 || s.onlyKnown:
		return errors.New("Image, Command, ImageFiles and OnlyKnownImages: there are no Nodes; add Nodes(1)")
	}
	return nil
}

// nodes runs the Nodes, their kubelets and their metrics. It implements world.Part.
type nodes struct {
	w         *Workloads
	cluster   *fakecluster.Cluster
	settings  *settings
	informers informers.SharedInformerFactory
	end       []func() // called by Wait, in this order
}

// Start implements world.Part.
func (p *nodes) Start(ctx context.Context) error {
	w, s := p.w, p.settings
	functions, err := container.NewRuntime(container.Config{Images: s.images, RESTConfig: w.attachment.TokenConfig, Kubeconfig: p.cluster.Kubeconfig, Report: w.report, Log: w.log})
	if err != nil {
		return fmt.Errorf("Image or Command: %w", err)
	}
	p.end = []func(){functions.Close}
	builtIn, err := container.NewRuntime(container.Config{Images: images.Images(), RESTConfig: w.attachment.TokenConfig, Report: w.report, Log: w.log})
	if err != nil {
		return err
	}
	p.end = append(p.end, builtIn.Close)
	notices := w.log
	if s.notices != nil {
		notices = s.notices
	}
	imageFiles, err := readFiles(s.files)
	if err != nil {
		return err
	}
	w.programs, err = cri.New(cri.Config{
		Behaviors: s.behaviors, Runtimes: []cri.Runtime{functions}, BuiltIn: builtIn, Script: functions.StartScript, Files: imageFiles, OnlyKnownImages: s.onlyKnown,
		Seed: w.attachment.Seed(), Services: p.informers.Core().V1().Services().Lister(), Notice: notices, Report: w.report,
	})
	if err != nil {
		return err
	}
	kubelets := newKubelets(w, s.logger)
	w.agent, err = node.Start(ctx, node.Config{
		Adopted: kubelets.serve, StaticPods: w.staticPods, Attaches: true,
		Nodes: s.nodes, Programs: w.programs,
		Seed: w.attachment.Seed(), Informers: p.informers, Report: w.report,
		Revision: w.attachment.Revision, Faulty: w.attachment.Faulty,
		Network: w.network, DNS: w.dns.String(),
		Client: func(user string, groups ...string) (kubernetes.Interface, error) {
			return controlplane.NewClient(w.attachment.ConfigFor(user, groups...), "kubelet", user)
		},
	})
	if err != nil {
		return err
	}
	p.end = append([]func(){w.agent.Wait, kubelets.end}, p.end...)
	w.allowAdmission(notices)
	w.attachment.BeforeReads(coordinationv1.Resource("leases"), func(r fakecluster.Read) {
		if !controlplane.IsSharedInformer(r.UserAgent) { // the controllers call Beat instead
			w.agent.BeforeRead(r.Watch)
		}
	})
	for _, n := range w.agent.Kubelets() {
		kubelets.serve(n)
	}
	kubelets.connect()
	return w.serveMetrics(p.informers)
}

// Wait implements world.Part.
func (p *nodes) Wait() {
	for _, end := range p.end {
		end()
	}
}

// ready waits until the Nodes are ready, so that the scheduler finds all of them. It implements world.Part.
type ready struct {
	w *Workloads
	// untainted reports whether the Nodes will lose the taint not-ready, because the node lifecycle
	// controller runs.
	untainted bool
}

// Start implements world.Part.
func (r ready) Start(ctx context.Context) error {
	if r.w.agent == nil {
		return nil
	}
	for _, sentence := range r.w.agent.WaitReady(ctx, r.untainted) {
		r.w.log(sentence)
	}
	return nil
}

// Wait implements world.Part.
func (ready) Wait() {}

// unmatched returns an error for behaviors that have selected no container.
func (w *Workloads) unmatched() error {
	if w.agent == nil {
		return nil
	}
	var errs []error
	for _, b := range w.programs.Unmatched() {
		errs = append(errs, fmt.Errorf("the behavior of %v has applied to no container; correct what it selects, or leave it out", b))
	}
	return errors.Join(errs...)
}
