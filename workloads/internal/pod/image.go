package pod

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/events"
	"k8s.io/kubernetes/pkg/util/parsers"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/image"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
)

// neededImage is an image that the node needs, for a container or as a volume.
type neededImage struct {
	name   string
	policy corev1.PullPolicy
	plan   cri.Plan
	record func(eventType, reason, format string, args ...any) // records an event about who needs it
}

// imageOf returns the image of a container.
func (p *Pod) imageOf(ctx context.Context, spec *corev1.Container) neededImage {
	return neededImage{spec.Image, spec.ImagePullPolicy, p.starts.plans[spec.Name], func(eventType, reason, format string, args ...any) {
		p.node.config.Events.Container(ctx, p.api, spec, eventType, reason, format, args...)
	}}
}

// imageOfVolume returns the image of the i-th volume of the specification.
func (p *Pod) imageOfVolume(ctx context.Context, i int) neededImage {
	source := p.api.Spec.Volumes[i].Image
	plan := p.node.config.Programs.Plan(p.api, &corev1.Container{Image: source.Reference}, cri.Main, i)
	return neededImage{source.Reference, source.PullPolicy, plan, func(eventType, reason, format string, args ...any) {
		p.node.config.Events.Pod(ctx, p.api, eventType, reason, format, args...)
	}}
}

// pull begins to pull an image. It returns the duration, or the reason why it does not begin.
func (p *Pod) pull(i neededImage, now time.Time) (time.Duration, *reason) {
	if _, _, _, err := parsers.ParseImageName(i.name); err != nil {
		message := fmt.Sprintf("Failed to apply default image tag %q: %v", i.name, err)
		i.record(corev1.EventTypeWarning, events.FailedToInspectImage, "%s", message)
		p.starts.pass.again(now.Add(timing.RetryPeriod))
		return 0, &reason{"InvalidImageName", message}
	}
	if p.node.config.Images.Has(i.name) && i.policy != corev1.PullAlways && i.plan.PullError == "" {
		return 0, nil
	}
	if i.policy == corev1.PullNever {
		if i.plan.PullError == "" {
			return 0, nil // the image was put on the node before
		}
		message := fmt.Sprintf("Container image %q is not present with pull policy of Never", i.name)
		i.record(corev1.EventTypeWarning, events.ErrImageNeverPullPolicy, "%s", message)
		p.starts.pass.again(now.Add(timing.RetryPeriod))
		return 0, &reason{"ErrImageNeverPull", message}
	}
	if r := p.starts.pulls[i.name]; r != nil && now.Before(r.Time) {
		message := fmt.Sprintf("Back-off pulling image %q", i.name)
		i.record(corev1.EventTypeNormal, events.BackOffPullImage, "%s", message)
		p.starts.pass.again(now.Add(timing.RetryPeriod))
		return 0, &reason{"ImagePullBackOff", message + ": ErrImagePull: " + r.Err}
	}
	i.record(corev1.EventTypeNormal, events.PullingImage, "Pulling image %q", i.name)
	return i.plan.PullDelay, nil
}

// pulled ends the pull, and returns the reason if it has failed.
func (p *Pod) pulled(i neededImage, now time.Time) *reason {
	if i.plan.PullError != "" {
		i.record(corev1.EventTypeWarning, events.FailedToPullImage, "Failed to pull image %q: %s", i.name, i.plan.PullError)
		r := p.starts.pulls[i.name]
		if r == nil {
			r = &timing.Retry{}
			p.starts.pulls[i.name] = r
		}
		r.Err, p.starts.pass.pullFailed = i.plan.PullError, true
		first := r.Delay == 0
		r.Failed(now, 10*time.Second, 300*time.Second)
		if first && p.starts.pass.first {
			// The start of the sandbox has the kubelet sync the pod once more, about a second later.
			p.starts.pass.again(now.Add(time.Second))
		}
		p.starts.pass.again(now.Add(timing.RetryPeriod))
		return &reason{"ErrImagePull", i.plan.PullError}
	}
	delete(p.starts.pulls, i.name)
	present := p.node.config.Images.Has(i.name) || i.policy == corev1.PullNever
	p.node.config.Images.Add(i.name)
	if present && i.policy != corev1.PullAlways {
		message := fmt.Sprintf("Container image %q already present on machine", i.name)
		if utilfeature.DefaultFeatureGate.Enabled(features.KubeletEnsureSecretPulledImages) {
			message += " and can be accessed by the pod"
		}
		i.record(corev1.EventTypeNormal, events.PulledImage, "%s", message)
		return nil
	}
	took := now.Sub(p.starts.pass.began).Truncate(time.Millisecond)
	i.record(corev1.EventTypeNormal, events.PulledImage,
		"Successfully pulled image %q in %v (%v including waiting). Image size: %v bytes.", i.name, took, took, image.Size(i.name))
	return nil
}

// pullVolumes pulls the images of volumes, one after the other, before the first container of the pass starts. It
// reports whether that is over. A container that mounts a failed one does not start: see unmountable.
func (p *Pod) pullVolumes(ctx context.Context, now time.Time) bool {
	run := p.starts.pass
	for run.volume < len(p.api.Spec.Volumes) {
		v := &p.api.Spec.Volumes[run.volume]
		if v.Image == nil {
			run.volume++
			continue
		}
		if now.Before(run.until) {
			return false
		}
		image := p.imageOfVolume(ctx, run.volume)
		var failed *reason
		if run.stage == stageBegin {
			var delay time.Duration
			if delay, failed = p.pull(image, now); failed == nil {
				run.stage, run.until, run.began = stagePull, now.Add(delay), now
				continue
			}
		} else {
			failed = p.pulled(image, now)
		}
		if failed != nil {
			run.unmountable[v.Name] = *failed
		}
		run.volume, run.stage, run.until = run.volume+1, stageBegin, time.Time{}
	}
	return true
}

// unmountable returns the reason why a container that mounts images as volumes cannot start; nil: it can.
func (p *Pod) unmountable(ctx context.Context, spec *corev1.Container) *reason {
	var last *reason
	for i := range spec.VolumeMounts {
		if failed, ok := p.starts.pass.unmountable[spec.VolumeMounts[i].Name]; ok {
			p.node.config.Events.Container(ctx, p.api, spec, corev1.EventTypeWarning, events.FailedToCreateContainer, "Error: %v", failed.reason)
			last = &failed
		}
	}
	return last
}
