package node

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/events"
)

// retry is when something that has failed is tried again. The delays double.
type retry struct {
	at    time.Time
	delay time.Duration
	err   string
}

// failed notes a failure, and returns when to try again.
func (r *retry) failed(now time.Time, first, most time.Duration) time.Time {
	r.delay = min(max(2*r.delay, first), most)
	r.at = now.Add(r.delay)
	return r.at
}

// pull begins to pull the image of a container. It returns how long that takes, or why it does not begin.
func (p *pod) pull(ctx context.Context, spec *corev1.Container, now time.Time) (time.Duration, *reason) {
	plan := p.plans[spec.Name]
	fail := func(why, message string) (time.Duration, *reason) {
		p.node.events.container(ctx, p.api, spec, corev1.EventTypeWarning, events.FailedToCreateContainer, "Error: %s", why)
		return 0, &reason{why, message}
	}
	if p.node.images[spec.Image] && spec.ImagePullPolicy != corev1.PullAlways && plan.pullError == "" {
		return 0, nil
	}
	if spec.ImagePullPolicy == corev1.PullNever {
		if plan.pullError == "" {
			return 0, nil // the image was put on the node before
		}
		message := fmt.Sprintf("Container image %q is not present with pull policy of Never", spec.Image)
		p.node.events.container(ctx, p.api, spec, corev1.EventTypeWarning, events.ErrImageNeverPullPolicy, "%s", message)
		p.pass.again(now.Add(retryPeriod))
		return fail("ErrImageNeverPull", message)
	}
	if r := p.pulls[spec.Image]; r != nil && now.Before(r.at) {
		message := fmt.Sprintf("Back-off pulling image %q", spec.Image)
		p.node.events.container(ctx, p.api, spec, corev1.EventTypeNormal, events.BackOffPullImage, "%s", message)
		p.pass.again(now.Add(retryPeriod))
		return fail("ImagePullBackOff", message+": ErrImagePull: "+r.err)
	}
	p.node.events.container(ctx, p.api, spec, corev1.EventTypeNormal, events.PullingImage, "Pulling image %q", spec.Image)
	return plan.pullDelay, nil
}

// pulled ends the pull, and returns why it has failed.
func (p *pod) pulled(ctx context.Context, spec *corev1.Container, now time.Time) *reason {
	plan := p.plans[spec.Name]
	if plan.pullError != "" {
		p.node.events.container(ctx, p.api, spec, corev1.EventTypeWarning, events.FailedToPullImage,
			"Failed to pull image %q: %s", spec.Image, plan.pullError)
		p.node.events.container(ctx, p.api, spec, corev1.EventTypeWarning, events.FailedToCreateContainer, "Error: %s", "ErrImagePull")
		r := p.pulls[spec.Image]
		if r == nil {
			r = &retry{}
			p.pulls[spec.Image] = r
		}
		r.err = plan.pullError
		first := r.delay == 0
		r.failed(now, 10*time.Second, 300*time.Second)
		if first {
			// The start of the sandbox has the kubelet sync the pod once more, about a second later.
			p.pass.again(now.Add(time.Second))
		}
		p.pass.again(now.Add(retryPeriod))
		return &reason{"ErrImagePull", plan.pullError}
	}
	delete(p.pulls, spec.Image)
	present := p.node.images[spec.Image] || spec.ImagePullPolicy == corev1.PullNever
	if present && spec.ImagePullPolicy != corev1.PullAlways {
		message := fmt.Sprintf("Container image %q already present on machine", spec.Image)
		if utilfeature.DefaultFeatureGate.Enabled(features.KubeletEnsureSecretPulledImages) {
			message += " and can be accessed by the pod"
		}
		p.node.events.container(ctx, p.api, spec, corev1.EventTypeNormal, events.PulledImage, "%s", message)
		return nil
	}
	p.node.images[spec.Image] = true
	took := now.Sub(p.pass.began).Truncate(time.Millisecond)
	p.node.events.container(ctx, p.api, spec, corev1.EventTypeNormal, events.PulledImage,
		"Successfully pulled image %q in %v (%v including waiting). Image size: %v bytes.", spec.Image, took, took, imageSize(spec.Image))
	return nil
}

// imageSize returns a size from 10 to 138 MB that follows from the name.
func imageSize(image string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(image))
	return 10_000_000 + int(h.Sum32()>>5)
}
