package pod

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/events"

	"github.com/fakecluster/fakecluster/workloads/internal/cgroup"
	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/image"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
)

// minimumGrace is the minimum of seconds that the kubelet waits before it sends SIGKILL.
const minimumGrace = 2

// container is one start of a container of a pod.
type container struct {
	spec      *corev1.Container
	kind      cri.ContainerKind
	attempt   int
	resources corev1.ResourceRequirements // current; read-only
	cgroup    *cgroup.Group               // shows them
	id        string
	startedAt time.Time
	process   cri.Process
	served    kubelet.Container
	exited    context.CancelFunc // ends the programs of exec
	exit      *cri.Exit          // nil: it runs
	verdicts  [cri.Kinds]verdict // by the kind of probe
	presumed  bool               // counts as started, as the former start did, until its first startup probe
	stop      *stop              // nil: it is not being stopped
}

// stop is the state of a container that is being stopped.
type stop struct {
	since    time.Time
	grace    int64     // seconds
	preStop  time.Time // latest end of the preStop hook
	hook     *hook     // the preStop hook; nil: there is none, or it sleeps
	signaled time.Time // when SIGTERM was sent, and zero before
	killAt   time.Time // when SIGKILL follows
	message  string
}

func (c *container) running() bool {
	return c.exit == nil
}

// stopped reports whether the container has ended and is not being stopped any more: a sleeping preStop hook continues
// even if its container has ended.
func (c *container) stopped(now time.Time) bool {
	return !c.running() && (c.stop == nil || c.stop.hook != nil || !now.Before(c.stop.preStop))
}

// observe records the exit of the process, and reports whether it has just ended.
func (c *container) observe(now time.Time) (changed bool) {
	if c.exit != nil {
		return false
	}
	if c.exit = c.process.Exit(now); c.exit == nil {
		return false
	}
	c.exited()
	if c.stop != nil && c.stop.hook != nil {
		c.stop.hook.cancel()
	}
	c.served.Log.Close()
	if c.served.Stdin != nil {
		c.served.Stdin.Close()
	}
	return true
}

// status returns the container's status in the type of the kubelet's functions.
func (c *container) status() *kubecontainer.Status {
	s := &kubecontainer.Status{
		ID:           kubecontainer.ContainerID{Type: "containerd", ID: c.id},
		Name:         c.spec.Name,
		State:        kubecontainer.ContainerStateRunning,
		CreatedAt:    c.startedAt,
		StartedAt:    c.startedAt,
		Image:        image.Name(c.spec.Image),
		ImageRef:     image.Ref(c.spec.Image),
		RestartCount: c.attempt,
	}
	if c.exit != nil {
		s.State = kubecontainer.ContainerStateExited
		s.FinishedAt = c.exit.At
		s.ExitCode = int(c.exit.Code)
		s.Reason = c.exit.Reason
		s.Message = c.exit.Message
	}
	return s
}

// beginStop begins to stop the container. grace is in seconds.
func (c *container) beginStop(ctx context.Context, p *Pod, grace int64, message string, now time.Time) {
	if !c.running() {
		return
	}
	if c.stop != nil {
		// A later request can only shorten the grace period.
		if left := grace + int64(now.Sub(c.stop.since).Seconds()); left < c.stop.grace {
			c.stop.grace = left
			if end := c.stop.since.Add(time.Duration(left) * time.Second); end.Before(c.stop.preStop) {
				c.stop.preStop = end
			}
			if killAt := now.Add(time.Duration(max(grace, minimumGrace)) * time.Second); !c.stop.signaled.IsZero() && killAt.Before(c.stop.killAt) {
				c.stop.killAt = killAt
			}
		}
		return
	}
	if message == "" {
		message = "Stopping container " + c.spec.Name
	}
	p.node.config.Events.Container(ctx, p.api, c.spec, corev1.EventTypeNormal, events.KillingContainer, "%s", message)
	c.stop = &stop{since: now, grace: grace, preStop: now, message: message}
	if handler, most := preStop(c.spec), time.Duration(grace)*time.Second; handler != nil && grace > 0 {
		api := p.api
		c.stop.hook = p.startHook(ctx, c, handler, func(err error) {
			if err != nil {
				p.node.config.Events.Container(ctx, api, c.spec, corev1.EventTypeWarning, events.FailedPreStopHook, "PreStopHook failed")
			}
		})
		c.stop.preStop = now.Add(min(most, sleepTime(handler)))
		if c.stop.hook != nil {
			c.stop.preStop = now.Add(most)
		}
	}
}

// preStopping reports whether the preStop hook still runs.
func (s *stop) preStopping(now time.Time) bool {
	if s.hook != nil {
		if done, _, _ := s.hook.result(); done {
			return false
		}
	}
	return now.Before(s.preStop)
}

// advance sends the signals that are due. turn: the containers that must end before this one have ended.
func (c *container) advance(now time.Time, turn bool) {
	if c.stop == nil || !c.running() {
		return
	}
	s := c.stop
	if s.signaled.IsZero() {
		graceEnd := s.since.Add(time.Duration(s.grace) * time.Second)
		if s.preStopping(now) || !turn && now.Before(graceEnd) {
			return
		}
		// The kubelet counts the elapsed time in whole seconds.
		left := max(s.grace-int64(now.Sub(s.since).Seconds()), minimumGrace)
		s.signaled, s.killAt = now, now.Add(time.Duration(left)*time.Second)
		c.process.Terminate(now)
	}
	if !now.Before(s.killAt) && c.process.Exit(now) == nil {
		c.process.Kill(now)
	}
	c.observe(now)
}

// next returns the time of the next call of advance; zero: none.
func (c *container) next(now time.Time) time.Time {
	if !c.running() {
		if !c.stopped(now) {
			return c.stop.preStop
		}
		return time.Time{}
	}
	next := c.process.Next(now)
	if s := c.stop; s != nil {
		if s.signaled.IsZero() {
			next = timing.Earlier(next, s.preStop, now)
			next = timing.Earlier(next, s.since.Add(time.Duration(s.grace)*time.Second), now)
		} else {
			next = timing.Earlier(next, s.killAt, now)
		}
		return next
	}
	return next
}

// terminationGrace returns the grace period in seconds: of the probe that ends the container, or else of the pod.
func terminationGrace(pod *corev1.Pod, probe *corev1.Probe) int64 {
	switch {
	case pod.DeletionGracePeriodSeconds != nil:
		return *pod.DeletionGracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds == nil:
		return minimumGrace
	case probe != nil && probe.TerminationGracePeriodSeconds != nil:
		return *probe.TerminationGracePeriodSeconds
	}
	return *pod.Spec.TerminationGracePeriodSeconds
}

// linuxUser returns the user of a container's first process.
func linuxUser(pod *corev1.Pod, spec *corev1.Container) *corev1.ContainerUser {
	identity := identityOf(pod, spec)
	return &corev1.ContainerUser{Linux: &corev1.LinuxContainerUser{
		UID: identity.User, GID: identity.Group, SupplementalGroups: append([]int64{identity.Group}, identity.Groups...),
	}}
}
