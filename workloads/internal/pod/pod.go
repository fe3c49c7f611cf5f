package pod

import (
	"context"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/events"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	utilpod "k8s.io/kubernetes/pkg/util/pod"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
	"github.com/fakecluster/fakecluster/workloads/internal/seeded"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
	"github.com/fakecluster/fakecluster/workloads/internal/volumes"
)

// restorePeriod is the interval at which the kubelet checks whether another client has written the status.
const restorePeriod = 10 * time.Second

// Pod is the state machine of a pod on a node. It belongs to the goroutine of the node.
type Pod struct {
	node *Node
	uid  types.UID   // for the node; a static pod keeps that of its first mirror pod, as it has one of its own on a real node
	api  *corev1.Pod // the newest version, with the resources that the node has allocated; read-only
	gone bool        // the object is deleted

	static bool // the object is a mirror pod

	report      report
	starts      starts
	termination termination
	resize      resize
	volumes     *volumes.Pod

	admitted bool
	counted  *framework.PodInfo // see info
	arrived  time.Time
	sandbox  sandbox
	ips      []string
	runs     map[string][]*container // by the name of the container: the latest start, and the one before
	probers  []*prober               // nil: the pod is not probed yet
	seenInto bool                    // a program has looked into a container without code

	timer *time.Timer
}

// report is the status of a pod that the node has written, or will write.
type report struct {
	status    corev1.PodStatus // the newest one of ours
	unwritten bool             // status is not written yet
	restore   time.Time        // when to check whether another client has written it; zero: none has
}

// starts are the next starts of the containers of a pod, by the names of the containers.
type starts struct {
	plans          map[string]cri.Plan
	configurations map[string]configuration
	reasons        map[string]reason        // why a container does not start
	pulls          map[string]*timing.Retry // by image: back-off after failed pulls
	pass           *pass                    // containers that are being started
	again          time.Time                // when to check again which containers to start
	dirty          bool                     // something has changed since then
}

// termination is the state of a pod's end.
type termination struct {
	killing   bool    // all containers are ending, because only sidecars are left
	failure   *reason // the reason why the kubelet ends the pod
	eviction  eviction
	ending    *ending // nil: it does not end
	rejected  bool    // the node has not admitted it
	completed bool    // all containers have ended, and the sandbox is stopped
	deleted   bool    // the node has deleted the object
	finished  bool    // there is nothing left to do
}

// sandbox is the part of a pod that its containers share, above all the network.
type sandbox struct {
	readyAt  time.Time // zero: it does not exist
	ready    bool
	failures int // to create it
	stopped  bool
	host     *network.Host         // nil: it has not joined the network
	dns      *runtimeapi.DNSConfig // of /etc/resolv.conf
}

func (s sandbox) exists() bool { return s.ready }

// reason is a reason and a message as in statuses.
type reason struct{ reason, message string }

// ending is the end of a pod.
type ending struct {
	grace int64 // seconds
	// seen is the version of the pod that the kubelet's pod worker has: that of the last change that syncs it, without
	// later writes of the status.
	seen *corev1.Pod
	// phase is that of the first status of the end; empty: it is not written yet.
	phase corev1.PodPhase
}

func newPod(n *Node, api *corev1.Pod) *Pod {
	return &Pod{
		node: n, uid: api.UID, api: api, resize: resize{wanted: api}, report: report{status: *api.Status.DeepCopy()}, runs: map[string][]*container{},
		starts: starts{
			plans: map[string]cri.Plan{}, configurations: map[string]configuration{}, reasons: map[string]reason{}, pulls: map[string]*timing.Retry{},
			dirty: true,
		},
		volumes: n.config.Volumes.NewPod(api), arrived: time.Now(),
	}
}

// Outdate makes the next sync update the volumes, because their sources have changed.
func (p *Pod) Outdate(now time.Time) { p.volumes.Outdate(now) }

func (p *Pod) key() string { return p.api.Namespace + "/" + p.api.Name }

// latest returns the latest start of a container, and previous the one before.
func (p *Pod) latest(name string) *container {
	if runs := p.runs[name]; len(runs) > 0 {
		return runs[0]
	}
	return nil
}

func (p *Pod) previous(name string) *container {
	if runs := p.runs[name]; len(runs) > 1 {
		return runs[1]
	}
	return nil
}

// succeededInit reports whether the container is one of spec.initContainers that has succeeded. A kubelet does not show
// it as waiting, even if it is a sidecar and starts again.
func (p *Pod) succeededInit(name string) bool {
	c := p.latest(name)
	return c != nil && (c.kind == cri.Init || c.kind == cri.Sidecar) && !c.running() && c.exit.Code == 0
}

// running returns the containers that run.
func (p *Pod) running() []*container {
	var running []*container
	for _, runs := range p.runs {
		if runs[0].running() {
			running = append(running, runs[0])
		}
	}
	return running
}

// stopped reports whether all containers have ended, and are not being stopped any more.
func (p *Pod) stopped(now time.Time) bool {
	for _, runs := range p.runs {
		if !runs[0].stopped(now) {
			return false
		}
	}
	return true
}

// seen takes over a new version of the object.
func (p *Pod) seen(api *corev1.Pod) {
	if !newer(api, p.api) {
		return
	}
	if api.Generation != p.api.Generation {
		p.starts.dirty = true
	}
	if p.volumes.HasAPIFiles() && !(maps.Equal(api.Labels, p.api.Labels) && maps.Equal(api.Annotations, p.api.Annotations)) {
		p.volumes.RefreshBy(time.Now()) // volumes of the downward API
	}
	p.take(api)
	if p.report.restore.IsZero() && p.overwritten() {
		p.report.restore = time.Now().Add(restorePeriod)
	}
}

// newer reports whether a is a later version of the object than b.
func newer(a, b *corev1.Pod) bool {
	x, _ := strconv.ParseUint(a.ResourceVersion, 10, 64)
	y, _ := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return x > y
}

// Sync does what is due, in the order of the kubelet: first the status, then volumes, the sandbox, and the containers to
// start or end.
func (p *Pod) Sync(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		if !p.step(ctx, now) {
			if !p.termination.finished {
				p.show()
			}
			p.schedule(now)
			return
		}
	}
}

// step does one round, and reports whether another one must follow at once.
func (p *Pod) step(ctx context.Context, now time.Time) bool {
	if p.static && (p.gone || p.api.DeletionTimestamp != nil) {
		p.unmirror(ctx, now)
		return false
	}
	if p.termination.finished {
		p.answer(ctx, now)
		return false
	}
	if !p.report.restore.IsZero() && !now.Before(p.report.restore) {
		p.report.restore = time.Time{}
		p.report.unwritten = p.report.unwritten || p.overwritten()
	}
	p.observe(ctx, now)
	p.answer(ctx, now)
	switch { // also if the pod must end: a kubelet finishes a sync that has begun
	case p.starts.pass != nil:
		return p.advance(ctx, now)
	case p.termination.killing:
		return p.kill(ctx, now)
	}
	if p.termination.ending == nil {
		if p.mustEnd(ctx, now); p.termination.ending != nil && p.ask() {
			return true
		}
	}
	if p.termination.ending != nil {
		return p.end(ctx, now)
	}
	p.volumes.Certify(ctx, now)
	if !p.admitted {
		return p.admit(ctx, now)
	}
	p.allocate(ctx, now)
	p.actuate(ctx, now)
	p.volumes.Refresh(ctx, p.starts.dirty, now)
	s := p.generate(now, false)
	if podutil.IsPodPhaseTerminal(s.Phase) {
		p.termination.ending = &ending{seen: p.api, grace: terminationGrace(p.api, nil)}
		return true
	}
	p.publish(ctx, s, now)
	if !p.volumes.Mounted() && !p.volumes.Mount(ctx, p.hasCode(), now) {
		return false
	}
	p.addProbers(now)
	if !p.startSandbox(ctx, now) || now.Before(p.starts.again) && !p.starts.dirty {
		return false
	}
	asked := (p.starts.dirty || !p.starts.again.IsZero()) && p.ask()
	p.starts.again, p.starts.dirty = time.Time{}, false
	p.volumes.RecordSync(now)
	return p.begin(ctx, now) || asked
}

// observe records the changes of the containers.
func (p *Pod) observe(ctx context.Context, now time.Time) {
	changed := false
	for _, name := range p.names() {
		c := p.latest(name)
		if c == nil {
			continue
		}
		changed = c.observe(now) || changed
	}
	probed := p.probe(ctx, now)
	if changed = changed || probed; changed {
		p.starts.dirty = true
		if p.termination.ending != nil && !p.stopped(now) {
			p.termination.ending.seen = p.api
		}
	}
	if probed {
		if p.starts.pass != nil || p.termination.ending != nil && p.termination.ending.phase != "" && !p.termination.completed {
			p.showProbes(ctx, now)
		}
	}
}

// names returns the names of all containers, in the order of the spec: init, main, ephemeral.
func (p *Pod) names() []string {
	spec := &p.api.Spec
	names := make([]string, 0, len(spec.InitContainers)+len(spec.Containers)+len(spec.EphemeralContainers))
	for i := range spec.InitContainers {
		names = append(names, spec.InitContainers[i].Name)
	}
	for i := range spec.Containers {
		names = append(names, spec.Containers[i].Name)
	}
	for i := range spec.EphemeralContainers {
		names = append(names, spec.EphemeralContainers[i].Name)
	}
	return names
}

// mustEnd begins the end of the pod if it is deleted, or past its deadline.
func (p *Pod) mustEnd(ctx context.Context, now time.Time) {
	switch {
	case p.gone, p.api.DeletionTimestamp != nil, podutil.IsPodPhaseTerminal(p.api.Status.Phase):
		p.termination.ending = &ending{seen: p.api, grace: terminationGrace(p.api, nil)}
	case p.checkDeadline(ctx, now, 2): // for the last status, and for the first one of the end
		p.termination.ending = &ending{seen: p.api, grace: terminationGrace(p.api, nil)}
	case p.evicts(ctx, now):
		p.termination.ending = &ending{seen: p.api, grace: evictionGrace}
	}
}

// checkDeadline reports whether the pod is past its deadline, and makes it fail then. A kubelet records an Event with
// each status that it generates; times is their number.
func (p *Pod) checkDeadline(ctx context.Context, now time.Time, times int) bool {
	if deadline := p.deadline(); deadline.IsZero() || now.Before(deadline) {
		return false
	}
	p.termination.failure = &reason{"DeadlineExceeded", "Pod was active on the node longer than the specified deadline"}
	for range times {
		p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeNormal, p.termination.failure.reason, "%s", p.termination.failure.message)
	}
	return true
}

// deadline returns the end of spec.activeDeadlineSeconds; zero: it is not set.
func (p *Pod) deadline() time.Time {
	if p.api.Spec.ActiveDeadlineSeconds == nil || p.report.status.StartTime == nil {
		return time.Time{}
	}
	return p.report.status.StartTime.Add(time.Duration(*p.api.Spec.ActiveDeadlineSeconds) * time.Second)
}

// end stops all containers, writes the last status, and deletes the object if that was requested.
func (p *Pod) end(ctx context.Context, now time.Time) bool {
	if p.termination.completed {
		return p.finish(ctx, now)
	}
	if p.api.DeletionGracePeriodSeconds != nil {
		p.termination.ending.grace = min(p.termination.ending.grace, *p.api.DeletionGracePeriodSeconds)
	}
	p.termination.ending.grace = max(p.termination.ending.grace, 1) // also if it is deleted by force
	if !p.stopped(now) {
		if !p.gone && p.termination.ending.phase == "" {
			// The status is written before ending containers get a signal. Until all have ended, only probes change it,
			// and the phase stays.
			s := p.generate(now, false)
			p.termination.ending.phase = s.Phase
			if podutil.IsPodPhaseTerminal(s.Phase) {
				s.Phase, s.Reason, s.Message = p.report.status.Phase, p.report.status.Reason, p.report.status.Message
			}
			p.publish(ctx, s, now)
		}
		p.stopAll(ctx, p.termination.ending.grace, now)
		return p.stopped(now)
	}
	p.termination.completed = true
	p.node.View.forgetProbes(p.uid)
	p.starts.again, p.starts.dirty = time.Time{}, true // no back-off delays the end
	p.checkDeadline(ctx, now, 2)                       // for the status without containers, and for the last one
	if p.termination.eviction.reason != nil {
		p.termination.failure = p.termination.eviction.reason
	}
	p.stopSandbox()
	p.volumes.Unmount()
	p.node.release(p)
	return true
}

// finish writes the last status, and deletes the object.
func (p *Pod) finish(ctx context.Context, now time.Time) bool {
	if p.gone {
		p.termination.finished = true
		p.node.forget(p)
		return false
	}
	if p.termination.deleted || p.starts.again.After(now) && !p.starts.dirty {
		return false
	}
	p.starts.again, p.starts.dirty = time.Time{}, false
	if p.termination.rejected && p.checkDeadline(ctx, now, 1) {
		p.termination.rejected, p.termination.ending.seen = false, p.api // a kubelet looks at the deadline of each pod
	}
	if p.termination.rejected {
		p.publish(ctx, *p.report.status.DeepCopy(), now) // not the one that the API of the kubelet shows
		return false
	}
	s := p.generate(now, true)
	p.terminate(&s)
	p.publish(ctx, s, now)
	if p.api.DeletionTimestamp == nil || p.report.unwritten || p.gone {
		return false
	}
	uid := p.api.UID
	err := p.node.config.Client.CoreV1().Pods(p.api.Namespace).Delete(ctx, p.api.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if p.termination.deleted = err == nil || isGone(err); !p.termination.deleted {
		p.starts.again = now.Add(timing.RetryPeriod)
	}
	return false
}

// kill stops the sidecars when no other container is left.
func (p *Pod) kill(ctx context.Context, now time.Time) bool {
	grace := int64(minimumGrace)
	if own := p.api.Spec.TerminationGracePeriodSeconds; own != nil {
		grace = *own // also if the pod is deleted meanwhile
	}
	p.stopAll(ctx, grace, now)
	if !p.stopped(now) {
		return false
	}
	p.termination.killing = false
	p.stopSandbox()
	return true
}

// stopAll ends all containers: sidecars after the main containers, in the reverse order of their starts.
func (p *Pod) stopAll(ctx context.Context, grace int64, now time.Time) {
	for _, name := range p.names() {
		if c := p.latest(name); c != nil {
			c.beginStop(ctx, p, grace, "", now)
		}
	}
	// Another container may wait for the end of this one.
	for before := -1; before != len(p.running()); {
		before = len(p.running())
		for _, c := range p.running() {
			c.advance(now, p.turn(c, now))
		}
	}
}

// turn reports whether the containers that must end before this one have ended.
func (p *Pod) turn(c *container, now time.Time) bool {
	if c.kind != cri.Sidecar {
		return true
	}
	later := false
	for i := range p.api.Spec.InitContainers {
		name := p.api.Spec.InitContainers[i].Name
		other := p.latest(name)
		if later && other != nil && other.kind == cri.Sidecar && !other.stopped(now) {
			return false
		}
		later = later || name == c.spec.Name
	}
	for i := range p.api.Spec.Containers {
		if other := p.latest(p.api.Spec.Containers[i].Name); other != nil && !other.stopped(now) {
			return false
		}
	}
	return true
}

// startSandbox creates the sandbox, and reports whether it is ready.
func (p *Pod) startSandbox(ctx context.Context, now time.Time) bool {
	s := &p.sandbox
	if s.ready {
		return true
	}
	if s.readyAt.IsZero() {
		s.readyAt = now.Add(p.jitter().Between("sandbox", 50*time.Millisecond, 150*time.Millisecond))
		return false
	}
	if now.Before(s.readyAt) {
		return false
	}
	p.node.View.count(func(c *kubelet.Counts) { c.Pods++ })
	_, err := p.kernelName()
	if err == nil {
		err = p.checkRuntime(ctx, s.failures)
	}
	if err != nil {
		p.node.View.count(func(c *kubelet.Counts) { c.PodErrors++ })
		p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeWarning, events.FailedCreatePodSandBox, "Failed to create pod sandbox: %v", err)
		s.failures++
		s.readyAt = now.Add(timing.RetryPeriod)
		return false
	}
	s.ready = true
	if !kubecontainer.IsHostNetworkPod(p.api) {
		p.ips = []string{p.node.allocate(p)}
	}
	s.dns = p.dnsConfig(ctx)
	p.host()
	// The kubelet reports at once that containers can start. The addresses follow with the next status.
	status := *p.report.status.DeepCopy()
	status.Conditions = utilpod.ReplaceOrAppendPodCondition(status.Conditions, &corev1.PodCondition{
		Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue,
		ObservedGeneration: podutil.CalculatePodConditionObservedGeneration(&status, p.api.Generation, corev1.PodReadyToStartContainers),
	})
	p.publish(ctx, status, now)
	return true
}

func (p *Pod) jitter() seeded.Durations {
	return seeded.Durations{Seed: p.node.config.Seed, Key: p.key()}
}

// publish writes a status if the kubelet's part has changed. A failed write is repeated later.
func (p *Pod) publish(ctx context.Context, s corev1.PodStatus, now time.Time) {
	normalize(&s, &p.report.status, now)
	s.ObservedGeneration = podutil.CalculatePodStatusObservedGeneration(p.api)
	if !p.report.unwritten && sameByKubelet(&s, &p.report.status) {
		p.report.status = s
		return
	}
	if p.report.status.Phase == corev1.PodPending && s.Phase == corev1.PodRunning {
		p.node.View.count(func(c *kubelet.Counts) { c.PodStarts.Observe(now.Sub(p.arrived).Seconds(), 1) })
	}
	p.node.View.countEnds(&p.report.status, &s)
	p.report.status, p.report.unwritten = s, true
	p.show()
	written, err := patchStatus(ctx, p.node.config.Client, p.api, s)
	switch {
	case err == nil:
		p.report.unwritten = false
		p.seen(written)
	case isGone(err):
		p.report.unwritten = false
	default:
		p.starts.again = now.Add(timing.RetryPeriod)
		p.node.config.Logger.V(2).Info("The status of a pod is not written yet", "pod", p.key(), "err", err)
	}
}

// patchStatus writes a status. It returns the unchanged pod if there is nothing to write.
func patchStatus(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, status corev1.PodStatus) (*corev1.Pod, error) {
	patch, err := statusPatch(pod, status)
	if patch == nil || err != nil {
		return pod, err
	}
	return client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

// statusPatch returns a strategic merge patch, as a kubelet sends it, which keeps conditions of other clients; nil: the
// pod has the status already.
func statusPatch(pod *corev1.Pod, status corev1.PodStatus) ([]byte, error) {
	before, after, err := resource.Differ(&corev1.Pod{Status: pod.Status}, &corev1.Pod{Status: status})
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateTwoWayMergeMapPatch(before, after, corev1.Pod{})
	if len(patch) == 0 || err != nil {
		return nil, err
	}
	patch["metadata"] = map[string]any{"uid": string(pod.UID)} // a precondition
	return json.Encode(patch)
}

// schedule sets the timer for the next due event.
func (p *Pod) schedule(now time.Time) {
	var next time.Time
	for _, runs := range p.runs {
		next = timing.Earlier(next, runs[0].next(now), now)
	}
	for _, r := range p.probers {
		next = timing.Earlier(next, r.next(p, now), now)
	}
	next = timing.Earlier(next, p.starts.again, now)
	next = timing.Earlier(next, p.volumes.Next(now), now)
	next = timing.Earlier(next, p.resize.retryAt, now)
	next = timing.Earlier(next, p.resize.updateAt, now)
	next = timing.Earlier(next, p.report.restore, now)
	next = timing.Earlier(next, p.sandbox.readyAt, now)
	next = timing.Earlier(next, p.deadline(), now)
	next = timing.Earlier(next, p.termination.eviction.noticed, now)
	if p.starts.pass != nil {
		next = timing.Earlier(next, p.starts.pass.until, now)
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.termination.finished || next.IsZero() {
		return
	}
	p.timer = time.AfterFunc(next.Sub(now), func() { p.node.config.Enqueue(p.uid) })
}
