package pod

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	crierrors "k8s.io/cri-api/pkg/errors"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/events"
	"k8s.io/kubernetes/pkg/kubelet/util/format"

	"github.com/fakecluster/fakecluster/workloads/internal/cgroup"
	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/image"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/seeded"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
	"github.com/fakecluster/fakecluster/workloads/internal/volumes"
)

// pass is one SyncPod of the kubelet: it ends some containers, then starts others one after the other. At its end the
// status of the pod is written.
type pass struct {
	kills  []*container
	starts []*corev1.Container
	stage  stage
	until  time.Time // when the stage of the first start is over
	began  time.Time
	hook   *hook     // of stagePostStart; nil: there is none, or it sleeps
	retry  time.Time // when to retry failed starts
	first  bool      // no container was started before this pass
	// pullFailed: an image could not be pulled. Attempts that a back-off prevents do not count.
	pullFailed bool
	// volume is the number of volumes whose images were handled, which are pulled first. unmountable has the reasons why
	// volumes are missing.
	volume      int
	unmountable map[string]reason
}

// stage is the stage of a container's start.
type stage int

const (
	stageBegin stage = iota
	stagePull
	stageStart
	stagePostStart // the hook runs
	stageKill      // the hook has failed; the container is being ended
)

// begin decides which containers to end and to start. It reports whether there is something to do now.
func (p *Pod) begin(ctx context.Context, now time.Time) bool {
	run := &pass{unmountable: map[string]reason{}, first: len(p.runs) == 0}
	p.ephemerals(run)
	initialized, failed := p.initActions(run)
	if failed {
		return false
	}
	p.beginUpdates(now)
	if initialized && p.mainActions(run) {
		p.termination.killing = true
		return true
	}
	if len(run.kills)+len(run.starts) == 0 {
		return false
	}
	for _, c := range run.kills {
		c.beginStop(ctx, p, c.killGrace(p.api), c.killMessage(p.api), now)
	}
	p.starts.pass = run
	return true
}

func (p *Pod) ephemerals(run *pass) {
	for i := range p.api.Spec.EphemeralContainers {
		spec := (*corev1.Container)(&p.api.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		if p.latest(spec.Name) == nil {
			run.starts = append(run.starts, spec)
		}
	}
}

// initActions decides about init containers, the last one first, as the kubelet does. It reports whether main containers
// may start, and whether the pod has failed.
func (p *Pod) initActions(run *pass) (initialized, failed bool) {
	specs := p.api.Spec.InitContainers
	if len(specs) == 0 {
		return true, false
	}
	runtime := p.runtimeStatus()
	initialized = kubecontainer.HasAnyActiveRegularContainerStarted(&p.api.Spec, runtime)
	before := initialized
	var starts []*corev1.Container
	for i := len(specs) - 1; i >= 0; i-- {
		spec := &specs[i]
		sidecar := podutil.IsRestartableInitContainer(spec)
		c := p.latest(spec.Name)
		if c == nil {
			if before && sidecar {
				starts = append(starts, spec)
			}
			continue
		}
		if before && !sidecar {
			continue
		}
		next := func() {
			if i == len(specs)-1 {
				initialized = true
			} else if !before {
				starts = append(starts, &specs[i+1])
			}
		}
		switch {
		case c.running() && !sidecar:
		case c.running() && c.verdicts[cri.Startup] == probeFailed:
			run.kills, starts = append(run.kills, c), append(starts, spec)
		case c.running() && !c.started():
		case c.running():
			next()
			if c.changed(spec) || c.verdicts[cri.Liveness] == probeFailed || c.resizesByRestart(spec) {
				run.kills, starts = append(run.kills, c), append(starts, spec)
			}
		case sidecar:
			starts = append(starts, spec)
		case c.exit.Code != 0:
			if !kubecontainer.ShouldContainerBeRestarted(p.node.config.Logger, spec, p.api, runtime) {
				return false, true
			}
			starts = append(starts, spec)
		default:
			next()
		}
		before = true
	}
	if !before {
		starts = append(starts, &specs[0])
	}
	// They were found from the last to the first.
	for i := len(starts) - 1; i >= 0; i-- {
		run.starts = append(run.starts, starts[i])
	}
	return initialized, false
}

// mainActions decides about main containers. It reports whether all have ended for good while sidecars run.
func (p *Pod) mainActions(run *pass) (done bool) {
	runtime := p.runtimeStatus()
	keep, start := 0, 0
	for i := range p.api.Spec.Containers {
		spec := &p.api.Spec.Containers[i]
		c := p.latest(spec.Name)
		switch {
		case c == nil || !c.running():
			if kubecontainer.ShouldContainerBeRestarted(p.node.config.Logger, spec, p.api, runtime) {
				run.starts = append(run.starts, spec)
				start++
			}
		case c.changed(spec), c.unhealthy(), c.resizesByRestart(spec):
			run.kills = append(run.kills, c)
			if c.restarts(p.api) {
				run.starts = append(run.starts, spec)
				start++
			}
		default:
			keep++
		}
	}
	return keep == 0 && start == 0 && len(run.kills) == 0 && len(p.running()) > 0
}

// changed reports whether the image in the spec has changed since the container started.
func (c *container) changed(spec *corev1.Container) bool {
	return c.spec.Image != spec.Image
}

// restarts reports whether a container that is killed by the kubelet starts again.
func (c *container) restarts(pod *corev1.Pod) bool {
	if spec := kubecontainer.GetContainerSpec(pod, c.spec.Name); spec != nil && (c.changed(spec) || c.resizesByRestart(spec)) || c.kind == cri.Sidecar {
		return true
	}
	if c.spec.RestartPolicy != nil {
		return *c.spec.RestartPolicy != corev1.ContainerRestartPolicyNever
	}
	return pod.Spec.RestartPolicy != corev1.RestartPolicyNever
}

func (c *container) killMessage(pod *corev1.Pod) string {
	subject := "Container "
	if c.kind == cri.Sidecar {
		subject = "Init container "
	}
	message := subject + c.spec.Name + " failed liveness probe"
	if spec := kubecontainer.GetContainerSpec(pod, c.spec.Name); spec != nil && c.changed(spec) {
		message = subject + c.spec.Name + " definition changed"
	} else if c.verdicts[cri.Startup] == probeFailed {
		message = subject + c.spec.Name + " failed startup probe"
	} else if spec != nil && c.resizesByRestart(spec) && c.verdicts[cri.Liveness] != probeFailed {
		return "Container " + c.spec.Name + " resize requires restart"
	}
	if c.kind == cri.Main && c.restarts(pod) {
		message += ", will be restarted"
	}
	return message
}

func (c *container) killGrace(pod *corev1.Pod) int64 {
	switch {
	case c.verdicts[cri.Startup] == probeFailed:
		return terminationGrace(pod, c.spec.StartupProbe)
	case c.verdicts[cri.Liveness] == probeFailed:
		return terminationGrace(pod, c.spec.LivenessProbe)
	}
	return terminationGrace(pod, nil)
}

// advance continues the pass. It reports whether it is over.
func (p *Pod) advance(ctx context.Context, now time.Time) bool {
	for _, c := range p.starts.pass.kills {
		if c.advance(now, true); !c.stopped(now) {
			return false
		}
	}
	if len(p.starts.pass.starts) > 0 && !p.pullVolumes(ctx, now) {
		return false
	}
	for len(p.starts.pass.starts) > 0 {
		if now.Before(p.starts.pass.until) {
			return false
		}
		spec, before := p.starts.pass.starts[0], p.starts.pass.stage
		done, failed := p.start(ctx, spec, now)
		if failed != nil {
			p.countFailure(spec, failed)
			p.starts.reasons[spec.Name] = *failed
			done = true
		}
		if !done && p.starts.pass.stage == before {
			return false // a hook runs, or a container ends
		}
		if !done {
			continue
		}
		p.starts.pass.starts, p.starts.pass.stage, p.starts.pass.until, p.starts.pass.hook = p.starts.pass.starts[1:], stageBegin, time.Time{}, nil
		if failed != nil && cri.KindOf(p.api, spec.Name) == cri.Init {
			break
		}
	}
	failed := p.starts.pass.pullFailed
	p.starts.again, p.starts.pass = p.starts.pass.retry, nil
	if failed {
		p.reportPullSecrets(ctx)
	}
	return true
}

// start does the next stages of a container's start. done reports whether the container runs; failed is the reason why
// it does not.
func (p *Pod) start(ctx context.Context, spec *corev1.Container, now time.Time) (done bool, failed *reason) {
	run := p.starts.pass
	switch run.stage {
	case stageBegin:
		if failed := p.backOff(ctx, spec, now); failed != nil {
			return false, failed
		}
		p.node.View.count(func(c *kubelet.Counts) { c.Containers[containerTypes[cri.KindOf(p.api, spec.Name)]]++ })
		p.starts.plans[spec.Name] = p.node.config.Programs.Plan(p.api, spec, cri.KindOf(p.api, spec.Name), p.nextAttempt(spec.Name))
		if failed := p.unmountable(ctx, spec); failed != nil {
			return false, failed
		}
		delay, failed := p.pull(p.imageOf(ctx, spec), now)
		if failed != nil {
			p.node.config.Events.Container(ctx, p.api, spec, corev1.EventTypeWarning, events.FailedToCreateContainer, "Error: %s", failed.reason)
			return false, failed
		}
		run.stage, run.until, run.began = stagePull, now.Add(delay), now
	case stagePull:
		if failed := p.pulled(p.imageOf(ctx, spec), now); failed != nil {
			p.node.config.Events.Container(ctx, p.api, spec, corev1.EventTypeWarning, events.FailedToCreateContainer, "Error: %s", failed.reason)
			return false, failed
		}
		if err := p.configure(ctx, spec); err != nil {
			p.node.config.Events.Container(ctx, p.api, spec, corev1.EventTypeWarning, events.FailedToCreateContainer, "Error: %v", err)
			run.again(now.Add(timing.RetryPeriod))
			if errors.Is(err, crierrors.ErrImageVolumeMountFailed) {
				return false, &reason{"CreateContainerError", err.Error()} // from the container runtime
			}
			return false, &reason{"CreateContainerConfigError", err.Error()}
		}
		if err := p.checkProfiles(spec); err != nil {
			p.node.config.Events.Container(ctx, p.api, spec, corev1.EventTypeWarning, events.FailedToCreateContainer, "Error: %v", err)
			run.again(now.Add(timing.RetryPeriod))
			return false, &reason{"CreateContainerError", err.Error()}
		}
		run.stage, run.until = stageStart, now.Add(p.starts.plans[spec.Name].StartDelay)
	case stageStart:
		if failed := p.run(ctx, spec, now); failed != nil {
			return false, failed
		}
		handler := postStart(spec)
		if run.hook = p.startHook(ctx, p.latest(spec.Name), handler, func(error) {}); run.hook == nil && sleepTime(handler) == 0 {
			return true, nil
		}
		run.stage, run.until = stagePostStart, now.Add(sleepTime(handler))
	case stagePostStart:
		return p.postStarted(ctx, p.latest(spec.Name), now)
	case stageKill:
		return p.killed(p.latest(spec.Name), now)
	}
	return false, nil
}

// countFailure counts a failed start of a container, unless a back-off has prevented it.
func (p *Pod) countFailure(spec *corev1.Container, failed *reason) {
	if failed.reason != "CrashLoopBackOff" {
		p.node.View.count(func(c *kubelet.Counts) {
			c.ContainerErrors[kubelet.Failures{Type: containerTypes[cri.KindOf(p.api, spec.Name)], Code: failed.reason}]++
		})
	}
}

// postStarted continues when the postStart hook has ended. If it has failed, the container is ended.
func (p *Pod) postStarted(ctx context.Context, c *container, now time.Time) (done bool, failed *reason) {
	if hook := p.starts.pass.hook; hook != nil {
		done, _, err := hook.result()
		if !done {
			return false, nil
		}
		if err != nil {
			p.node.config.Events.Container(ctx, p.api, c.spec, corev1.EventTypeWarning, events.FailedPostStartHook, "PostStartHook failed")
			if !c.running() { // a kubelet records it also for a container that has ended meanwhile
				p.node.config.Events.Container(ctx, p.api, c.spec, corev1.EventTypeNormal, events.KillingContainer, "%s", events.FailedPostStartHook)
			}
			c.beginStop(ctx, p, terminationGrace(p.api, nil), events.FailedPostStartHook, now)
			p.starts.pass.stage = stageKill
			return p.killed(c, now)
		}
	}
	return true, nil
}

// killed continues when a container with a failed hook has ended.
func (p *Pod) killed(c *container, now time.Time) (done bool, failed *reason) {
	if c.advance(now, true); !c.stopped(now) {
		return false, nil
	}
	p.starts.dirty = true
	_, message, _ := p.starts.pass.hook.result()
	return false, &reason{"PostStartHookError", message}
}

// run creates and starts the container.
func (p *Pod) run(ctx context.Context, spec *corev1.Container, now time.Time) *reason {
	plan := p.starts.plans[spec.Name]
	p.node.config.Events.Container(ctx, p.api, spec, corev1.EventTypeNormal, events.CreatedContainer, "Container created")
	if plan.StartError != "" {
		p.put(p.unstarted(spec, plan.StartError, now))
		p.node.config.Events.Container(ctx, p.api, spec, corev1.EventTypeWarning, events.FailedToStartContainer, "Error: %s", plan.StartError)
		p.starts.dirty = true
		return &reason{"RunContainerError", plan.StartError}
	}
	p.put(p.container(spec, cri.KindOf(p.api, spec.Name), p.nextAttempt(spec.Name), now))
	p.node.config.Events.Container(ctx, p.api, spec, corev1.EventTypeNormal, events.StartedContainer, "Container started")
	p.notice(ctx, spec)
	delete(p.starts.reasons, spec.Name)
	p.starts.dirty = true
	return nil
}

// nextAttempt returns the number of starts of a container so far.
func (p *Pod) nextAttempt(name string) int {
	if c := p.latest(name); c != nil {
		return c.attempt + 1
	}
	return 0
}

// unstarted returns a start of a container whose process could not be started. For a container runtime it has ended
// without a start time.
func (p *Pod) unstarted(spec *corev1.Container, message string, now time.Time) *container {
	attempt := p.nextAttempt(spec.Name)
	c := &container{
		spec: spec, kind: cri.KindOf(p.api, spec.Name), attempt: attempt, startedAt: time.Unix(0, 0),
		id:   seeded.Digest(p.node.config.Seed, p.api.UID, spec.Name, attempt),
		exit: &cri.Exit{At: now, Code: 128, Reason: "StartError", Message: message},
	}
	c.served = withoutLog(c.id)
	return c
}

// withoutLog returns the container of the kubelet's API for a start that has ended, with an empty log.
func withoutLog(id string) kubelet.Container {
	log := stdio.NewLog()
	log.Close()
	return kubelet.Container{ID: id, Log: log}
}

// container returns a start of a container whose process runs.
func (p *Pod) container(spec *corev1.Container, kind cri.ContainerKind, attempt int, startedAt time.Time) *container {
	c := &container{
		spec: spec, kind: kind, attempt: attempt, startedAt: startedAt, resources: spec.Resources,
		id: seeded.Digest(p.node.config.Seed, p.api.UID, spec.Name, attempt),
	}
	configured := p.starts.configurations[spec.Name]
	c.cgroup = configured.cgroup
	if c.cgroup == nil {
		c.cgroup = p.cgroupOf(spec)
	}
	c.served = kubelet.Container{ID: c.id, Log: stdio.NewLog()}
	p.volumes.MeasureLog(spec, c.served.Log)
	if spec.Stdin {
		c.served.Stdin = stdio.NewInput()
	}
	kernelName, _ := p.kernelName() // the sandbox has it
	command := spec.Command
	if !p.node.config.Programs.HasFunction(spec) {
		command = image.Command(spec)
	}
	c.process = p.node.config.Programs.Start(cri.Container{
		Pod: p.api, Spec: spec, Kind: kind, ID: c.id, Attempt: attempt, StartedAt: startedAt,
		Command: configured.env.expand(command), Args: configured.env.expand(spec.Args),
		Environment: configured.env.list(), Files: configured.root, Hostname: kernelName, IP: p.ip(), Host: p.host(),
		Log: c.served.Log, Stdin: c.served.Stdin, Changed: func() { p.node.config.Enqueue(p.uid) },
		Look: func(ctx context.Context) (*files.Root, error) { return p.node.lookInto(ctx, p.uid, spec.Name) },
	})
	for _, statuses := range [][]corev1.ContainerStatus{p.report.status.ContainerStatuses, p.report.status.InitContainerStatuses} {
		// A status that a test has written by hand may say nothing about it.
		if s, ok := podutil.GetContainerStatus(statuses, spec.Name); ok && s.Started != nil {
			c.presumed = *s.Started
		}
	}
	alive, exited := context.WithCancel(context.Background())
	c.exited = exited
	c.served.Exec = func(ctx context.Context, command []string, s stdio.Streams) (int, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(alive, cancel)()
		return c.process.Exec(ctx, command, s)
	}
	return c
}

// configuration has the parts with which a container is created.
type configuration struct {
	env    environment
	root   *files.Root   // nil: the container does not have code
	cgroup *cgroup.Group // nil: it is created with the container
}

// configure returns the configuration of a container. The kubelet reports its errors as CreateContainerConfigError.
func (p *Pod) configure(ctx context.Context, spec *corev1.Container) error {
	env, err := p.environmentOf(ctx, spec)
	if err != nil {
		return err
	}
	made := configuration{env: env}
	if p.node.config.Programs.HasCode(p.api, spec) {
		made.cgroup = p.cgroupOf(spec)
		if made.root, err = p.root(spec, env, made.cgroup); err != nil {
			return err
		}
	}
	for i := range spec.VolumeMounts { // also of containers into which nobody looks
		if _, err := volumes.SubPath(&spec.VolumeMounts[i], env); err != nil {
			return err
		}
	}
	if err := breaksNonRoot(p.api, spec); err != nil {
		return err
	}
	p.starts.configurations[spec.Name] = made
	return nil
}

// reconfigure returns the configuration of a container that runs already. The object does not have the values with which
// it was created, so a source that is deleted counts as empty.
func (p *Pod) reconfigure(ctx context.Context, spec *corev1.Container) {
	if !p.hasCode() {
		return
	}
	p.volumes.Remount(ctx, true, time.Now())
	if err := p.configure(ctx, spec); err != nil {
		root, _ := files.NewRoot(files.NewTree(), nil) // without mounts there is no error
		p.starts.configurations[spec.Name] = configuration{root: root}
	}
}

// ip returns the address of the pod.
func (p *Pod) ip() string {
	if len(p.ips) > 0 {
		return p.ips[0]
	}
	return p.node.config.IP
}

// cgroupOf returns a cgroup with the resources that a container starts with.
func (p *Pod) cgroupOf(spec *corev1.Container) *cgroup.Group {
	g := &cgroup.Group{}
	_ = g.Set(p.api, spec, &spec.Resources, p.node.config.Spec.Status.Capacity) // in memory nothing can fail
	return g
}

// put makes the container the latest start, and keeps the one before.
func (p *Pod) put(c *container) {
	runs := append([]*container{c}, p.runs[c.spec.Name]...)
	p.runs[c.spec.Name] = runs[:min(len(runs), 2)]
}

// again requests another pass at a time or earlier.
func (run *pass) again(due time.Time) {
	if run.retry.IsZero() || due.Before(run.retry) {
		run.retry = due
	}
}

// backOff returns the reason why a container that has ended does not start again yet.
func (p *Pod) backOff(ctx context.Context, spec *corev1.Container, now time.Time) *reason {
	c := p.latest(spec.Name)
	if slices.Contains(p.starts.pass.kills, c) {
		c = p.previous(spec.Name) // this sync has ended the container; a kubelet looks at the last end before the sync
	}
	if c == nil || c.running() {
		return nil
	}
	key := string(p.uid) + "/" + spec.Name + "/" + spec.Image
	if !p.node.backOff.IsInBackOffSince(key, c.exit.At) {
		p.node.backOff.Next(key, c.exit.At)
		return nil
	}
	p.node.config.Events.Container(ctx, p.api, spec, corev1.EventTypeWarning, events.BackOffStartContainer,
		"Back-off restarting failed container %s in pod %s", spec.Name, format.Pod(p.api))
	delay := p.node.backOff.Get(key)
	due := c.exit.At.Add(delay)
	if resync := now.Add(timing.ResyncPeriod); due.After(resync) {
		due = resync
	}
	p.starts.pass.again(due)
	return &reason{"CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", delay, spec.Name, format.Pod(p.api))}
}
