package pod

import (
	"context"
	"encoding/json"
	"fmt"
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
	utilpod "k8s.io/kubernetes/pkg/util/pod"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
	"github.com/fakecluster/fakecluster/workloads/internal/seeded"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
	"github.com/fakecluster/fakecluster/workloads/internal/volumes"
)

// restorePeriod is how often the kubelet looks whether somebody else has written the status.
const restorePeriod = 10 * time.Second

// Pod is the state machine of a pod on a node. It belongs to the goroutine of the node.
type Pod struct {
	node *Node
	api  *corev1.Pod // the newest version that is there, with the resources that the node has allocated; read-only
	gone bool        // the object is deleted

	static bool // the object is a mirror pod

	status    corev1.PodStatus // the newest status of ours
	unwritten bool             // status is not written yet
	restore   time.Time        // when to look whether somebody else has written it; zero: nobody has

	admitted  bool
	sandbox   sandbox
	ips       []string
	runs      map[string][]*container  // by name: the latest start, and the one before
	plans     map[string]cri.Plan      // by name: of the next start
	reasons   map[string]reason        // by name: why the container does not start
	pulls     map[string]*timing.Retry // by image: back-off after failed pulls
	pass      *pass                    // containers that are being started
	probers   []*prober                // nil: the pod is not probed yet
	killing   bool                     // all containers are ending, because the pod has nothing else to do
	again     time.Time                // when to look again for what to start
	dirty     bool                     // something has changed since then
	failure   *reason                  // why the kubelet ends the pod
	eviction  eviction
	ending    *ending
	completed bool // all containers have ended, and the sandbox is stopped
	rejected  bool // the node has not taken it
	arrived   time.Time
	deleted   bool // we have deleted the object
	finished  bool // there is nothing left to do

	// What containers with code see.
	configurations map[string]configuration // by name: of the next start
	volumes        *volumes.Pod
	seenInto       bool // there has been one

	resize resize

	timer *time.Timer
}

// sandbox is what the containers of a pod share, above all the network.
type sandbox struct {
	readyAt  time.Time // zero: it does not exist
	ready    bool
	failures int // to create it
	stopped  bool
	host     *network.Host         // nil: it has not joined the network
	dns      *runtimeapi.DNSConfig // what /etc/resolv.conf has
}

func (s sandbox) exists() bool { return s.ready }

// reason is a reason and a message as in statuses.
type reason struct{ reason, message string }

// ending is the end of a pod.
type ending struct {
	grace int64 // seconds
	// seen is the pod that the kubelet's worker has: the one of the last change that syncs it. The status of later writes is not in it.
	seen *corev1.Pod
	// phase follows from the containers in its first status; empty: that is not written yet.
	phase corev1.PodPhase
}

func newPod(n *Node, api *corev1.Pod) *Pod {
	return &Pod{
		node: n, api: api, resize: resize{wanted: api}, status: *api.Status.DeepCopy(),
		runs: map[string][]*container{}, plans: map[string]cri.Plan{}, reasons: map[string]reason{}, pulls: map[string]*timing.Retry{},
		configurations: map[string]configuration{}, volumes: n.config.Volumes.NewPod(api),
		dirty: true, arrived: time.Now(),
	}
}

// Outdate has the volumes brought up to date, because their sources have changed.
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

// succeededInit reports whether the container is one of spec.initContainers that has succeeded. A kubelet does not show that it waits, also if it is a
// sidecar and starts again.
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
		p.dirty = true
	}
	if p.volumes.FromAPI() && !(maps.Equal(api.Labels, p.api.Labels) && maps.Equal(api.Annotations, p.api.Annotations)) {
		p.volumes.RefreshBy(time.Now()) // volumes of the downward API
	}
	p.take(api)
	if p.restore.IsZero() && p.overwritten() {
		p.restore = time.Now().Add(restorePeriod)
	}
}

// newer reports whether a is a later version of the object than b.
func newer(a, b *corev1.Pod) bool {
	x, _ := strconv.ParseUint(a.ResourceVersion, 10, 64)
	y, _ := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return x > y
}

// Sync does what is due. It follows the kubelet: the status of what runs first, then volumes, the sandbox, and the
// containers that have to start or end.
func (p *Pod) Sync(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		if !p.step(ctx, now) {
			if !p.finished {
				p.show()
			}
			p.schedule(now)
			return
		}
	}
}

// step does one round, and reports whether another one has to follow at once.
func (p *Pod) step(ctx context.Context, now time.Time) bool {
	if p.static && (p.gone || p.api.DeletionTimestamp != nil) {
		p.unmirror(ctx, now)
		return false
	}
	if p.finished {
		p.answer(ctx, now)
		return false
	}
	if !p.restore.IsZero() && !now.Before(p.restore) {
		p.restore = time.Time{}
		p.unwritten = p.unwritten || p.overwritten()
	}
	p.observe(ctx, now)
	p.answer(ctx, now)
	switch { // also if the pod has to end: a kubelet finishes a sync that has begun
	case p.pass != nil:
		return p.advance(ctx, now)
	case p.killing:
		return p.kill(ctx, now)
	}
	if p.ending == nil {
		if p.mustEnd(ctx, now); p.ending != nil && p.ask() {
			return true
		}
	}
	if p.ending != nil {
		return p.end(ctx, now)
	}
	p.volumes.Certify(ctx, now)
	if !p.admitted {
		return p.admit(ctx, now)
	}
	p.allocate(ctx, now)
	p.actuate(ctx, now)
	p.volumes.Refresh(ctx, p.dirty, now)
	s := p.generate(now, false)
	if podutil.IsPodPhaseTerminal(s.Phase) {
		p.ending = &ending{seen: p.api, grace: terminationGrace(p.api, nil)}
		return true
	}
	p.publish(ctx, s, now)
	if !p.volumes.Mounted() && !p.volumes.Mount(ctx, p.hasCode(), now) {
		return false
	}
	p.addProbers(now)
	if !p.startSandbox(ctx, now) || now.Before(p.again) && !p.dirty {
		return false
	}
	asked := (p.dirty || !p.again.IsZero()) && p.ask()
	p.again, p.dirty = time.Time{}, false
	p.volumes.Synced(now)
	return p.begin(ctx, now) || asked
}

// observe takes over what has happened in the containers.
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
		p.dirty = true
		if p.ending != nil && !p.stopped(now) {
			p.ending.seen = p.api
		}
	}
	if probed {
		if p.pass != nil || p.ending != nil && p.ending.phase != "" && !p.completed {
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
		p.ending = &ending{seen: p.api, grace: terminationGrace(p.api, nil)}
	case p.checkDeadline(ctx, now, 2): // for the last status, and for the first one of the end
		p.ending = &ending{seen: p.api, grace: terminationGrace(p.api, nil)}
	case p.evicts(ctx, now):
		p.ending = &ending{seen: p.api, grace: evictionGrace}
	}
}

// checkDeadline reports whether the pod is past its deadline, which is why it fails then. A kubelet records that with each status that it
// generates; times is how many.
func (p *Pod) checkDeadline(ctx context.Context, now time.Time, times int) bool {
	if deadline := p.deadline(); deadline.IsZero() || now.Before(deadline) {
		return false
	}
	p.failure = &reason{"DeadlineExceeded", "Pod was active on the node longer than the specified deadline"}
	for range times {
		p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeNormal, p.failure.reason, "%s", p.failure.message)
	}
	return true
}

// deadline returns when spec.activeDeadlineSeconds ends, and zero if it is not set.
func (p *Pod) deadline() time.Time {
	if p.api.Spec.ActiveDeadlineSeconds == nil || p.status.StartTime == nil {
		return time.Time{}
	}
	return p.status.StartTime.Add(time.Duration(*p.api.Spec.ActiveDeadlineSeconds) * time.Second)
}

// end stops all containers, writes the last status, and deletes the object if that was requested.
func (p *Pod) end(ctx context.Context, now time.Time) bool {
	if p.completed {
		return p.finish(ctx, now)
	}
	if p.api.DeletionGracePeriodSeconds != nil {
		p.ending.grace = min(p.ending.grace, *p.api.DeletionGracePeriodSeconds)
	}
	p.ending.grace = max(p.ending.grace, 1) // also if it is deleted by force
	if !p.stopped(now) {
		if !p.gone && p.ending.phase == "" {
			// The status of containers that are ending is written before they get a signal. Then it has what probes change, until all have
			// ended: so long the phase stays, too.
			s := p.generate(now, false)
			p.ending.phase = s.Phase
			if podutil.IsPodPhaseTerminal(s.Phase) {
				s.Phase, s.Reason, s.Message = p.status.Phase, p.status.Reason, p.status.Message
			}
			p.publish(ctx, s, now)
		}
		p.stopAll(ctx, p.ending.grace, now)
		return p.stopped(now)
	}
	p.completed = true
	p.node.View.forgetProbes(p.api.UID)
	p.again, p.dirty = time.Time{}, true // no back-off delays the end
	p.checkDeadline(ctx, now, 2)         // for the status without containers, and for the last one
	if p.eviction.reason != nil {
		p.failure = p.eviction.reason
	}
	p.stopSandbox()
	p.volumes.Unmount()
	p.node.release(p)
	return true
}

// finish writes the last status, and deletes the object.
func (p *Pod) finish(ctx context.Context, now time.Time) bool {
	if p.gone {
		p.finished = true
		p.node.forget(p)
		return false
	}
	if p.deleted || p.again.After(now) && !p.dirty {
		return false
	}
	p.again, p.dirty = time.Time{}, false
	if p.rejected && p.checkDeadline(ctx, now, 1) {
		p.rejected, p.ending.seen = false, p.api // a kubelet looks at the deadline of each pod
	}
	if p.rejected {
		p.publish(ctx, *p.status.DeepCopy(), now) // the API of the kubelet shows the other one
		return false
	}
	s := p.generate(now, true)
	p.terminate(&s)
	p.publish(ctx, s, now)
	if p.api.DeletionTimestamp == nil || p.unwritten || p.gone {
		return false
	}
	uid := p.api.UID
	err := p.node.config.Client.CoreV1().Pods(p.api.Namespace).Delete(ctx, p.api.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if p.deleted = err == nil || isGone(err); !p.deleted {
		p.again = now.Add(timing.RetryPeriod)
	}
	return false
}

// kill stops the containers that are left when the pod has nothing else to do, which are sidecars.
func (p *Pod) kill(ctx context.Context, now time.Time) bool {
	grace := int64(minimumGrace)
	if own := p.api.Spec.TerminationGracePeriodSeconds; own != nil {
		grace = *own // also if the pod is deleted meanwhile
	}
	p.stopAll(ctx, grace, now)
	if !p.stopped(now) {
		return false
	}
	p.killing = false
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
	// A container that ends may be the one that another one waits for.
	for before := -1; before != len(p.running()); {
		before = len(p.running())
		for _, c := range p.running() {
			c.advance(now, p.turn(c, now))
		}
	}
}

// turn reports whether the containers that have to end before this one have ended.
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
	status := *p.status.DeepCopy()
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

// publish writes a status if what is the kubelet's has changed. If the write fails, it is repeated later.
func (p *Pod) publish(ctx context.Context, s corev1.PodStatus, now time.Time) {
	normalize(&s, &p.status, now)
	s.ObservedGeneration = podutil.CalculatePodStatusObservedGeneration(p.api)
	if !p.unwritten && sameByKubelet(&s, &p.status) {
		p.status = s
		return
	}
	if p.status.Phase == corev1.PodPending && s.Phase == corev1.PodRunning {
		p.node.View.count(func(c *kubelet.Counts) { c.PodStarts.Observe(now.Sub(p.arrived).Seconds(), 1) })
	}
	p.node.View.countEnds(&p.status, &s)
	p.status, p.unwritten = s, true
	p.show()
	written, err := patchStatus(ctx, p.node.config.Client, p.api, s)
	switch {
	case err == nil:
		p.unwritten = false
		p.seen(written)
	case isGone(err):
		p.unwritten = false
	default:
		p.again = now.Add(timing.RetryPeriod)
		p.node.config.Logger.V(2).Info("The status of a pod is not written, and will be again", "pod", p.key(), "err", err)
	}
}

// patchStatus writes a status with a strategic merge patch, as a kubelet, which leaves conditions of others alone. It
// returns the pod as it was if the patch would be empty.
func patchStatus(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, status corev1.PodStatus) (*corev1.Pod, error) {
	before, err := json.Marshal(corev1.Pod{Status: pod.Status})
	if err != nil {
		return nil, err
	}
	// The uid is a precondition.
	after, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Status: status})
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
	if err != nil {
		return nil, err
	}
	if string(patch) == fmt.Sprintf(`{"metadata":{"uid":%q}}`, pod.UID) {
		return pod, nil
	}
	return client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

// schedule sets the timer for the next moment at which something happens by itself.
func (p *Pod) schedule(now time.Time) {
	var next time.Time
	for _, runs := range p.runs {
		next = timing.Earlier(next, runs[0].next(now), now)
	}
	for _, r := range p.probers {
		next = timing.Earlier(next, r.next(p, now), now)
	}
	next = timing.Earlier(next, p.again, now)
	next = timing.Earlier(next, p.volumes.Next(now), now)
	next = timing.Earlier(next, p.resize.retryAt, now)
	next = timing.Earlier(next, p.resize.updateAt, now)
	next = timing.Earlier(next, p.restore, now)
	next = timing.Earlier(next, p.sandbox.readyAt, now)
	next = timing.Earlier(next, p.deadline(), now)
	next = timing.Earlier(next, p.eviction.noticed, now)
	if p.pass != nil {
		next = timing.Earlier(next, p.pass.until, now)
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.finished || next.IsZero() {
		return
	}
	uid := p.api.UID
	p.timer = time.AfterFunc(next.Sub(now), func() { p.node.config.Enqueue(uid) })
}
