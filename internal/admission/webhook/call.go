package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	upstream "k8s.io/apiserver/pkg/admission"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
)

// call calls the webhook and returns its response, and an error if the webhook rejects the write. If the call itself
// fails, the error is an ErrCallingWebhook, and the failurePolicy applies.
func (w *webhook) call(ctx context.Context, write *admission.Write, attr *upstream.VersionedAttributes, to *invocation, mutating bool) (*response, error) {
	if err := w.allowDryRun(attr); err != nil {
		return nil, err
	}
	r, err := newReview(uuid.NewUUID(), w.AdmissionReviewVersions, attr, to)
	if err != nil {
		return nil, w.failed(fmt.Errorf("could not create admission objects: %w", err))
	}
	if err := w.send(ctx, write, r, mutating); err != nil {
		return nil, err
	}
	resp, err := r.check(mutating)
	if err != nil {
		return nil, w.failed(fmt.Errorf("received invalid webhook response: %w", err))
	}
	for key, value := range resp.AuditAnnotations {
		key = w.Name + "/" + key
		if err := attr.Attributes.AddAnnotation(key, value); err != nil {
			klog.Warningf("Failed to set admission audit annotation %s to %s for webhook %s: %v", key, value, w.Name, err)
		}
	}
	for _, text := range resp.Warnings {
		warning.AddWarning(ctx, "", text)
	}
	if !resp.Allowed {
		return resp, webhookerrors.ToStatusErr(w.Name, resp.Result)
	}
	return resp, nil
}

// allowDryRun rejects a dry run for a webhook that may have side effects.
func (w *webhook) allowDryRun(attr *upstream.VersionedAttributes) error {
	if !attr.IsDryRun() {
		return nil
	}
	if w.SideEffects == nil {
		//lint:ignore ST1005 the real server says it so
		return w.failed(errors.New("Webhook SideEffects is nil"))
	}
	if *w.SideEffects != admissionregistrationv1.SideEffectClassNone && *w.SideEffects != admissionregistrationv1.SideEffectClassNoneOnDryRun {
		return webhookerrors.NewDryRunUnsupportedErr(w.Name)
	}
	return nil
}

// send sends the review and reads the response.
func (w *webhook) send(ctx context.Context, write *admission.Write, r *review, mutating bool) error {
	client, err := write.Cluster.HookClient(w.client(), mutating)
	if err != nil {
		return w.failed(fmt.Errorf("could not get REST client: %w", err))
	}
	if w.TimeoutSeconds != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*w.TimeoutSeconds)*time.Second)
		defer cancel()
	}
	request := client.Post().Body(r.request)
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			request.Timeout(roundUp(left))
		}
	}
	if err := request.Do(faultinjection.Calling(ctx, w.Name)).Into(r.response); err != nil {
		return w.failed(fmt.Errorf("failed to call webhook: %w", err))
	}
	return nil
}

// roundUp rounds up to whole seconds, the unit of the timeout parameter.
func roundUp(d time.Duration) time.Duration {
	if whole := d.Truncate(time.Second); whole != d {
		return whole + time.Second
	}
	return d
}

// call is a call with its result.
type call struct {
	began         time.Time
	validates     bool
	again         bool           // in the second round
	response      *response      // nil: the call has failed
	before, after runtime.Object // the object, if the webhook may change it
	changed       bool
}

// record adds the result of a call to the history of the request and to its explanation.
func (w *webhook) record(write *admission.Write, made call, err error) {
	c := inspect.WebhookCall{Webhook: w.Name, Configuration: w.configuration, Outcome: "allowed", Latency: time.Since(made.began)}
	var failed *webhookutil.ErrCallingWebhook
	switch {
	case errors.As(err, &failed):
		c.Outcome, c.Message = "failed", failed.Reason.Error()
	case err != nil:
		c.Outcome, c.Message = "refused", err.Error()
	case made.changed:
		c.Outcome = "changed"
	}
	write.Observe.Webhook(c, func() inspect.AdmissionStep { return made.step(c) })
}

func (w *webhook) failed(reason error) error {
	return &webhookutil.ErrCallingWebhook{WebhookName: w.Name, Reason: reason}
}

// applyFailurePolicy applies the failurePolicy to an error of a call. It returns the error of the request; failedOpen:
// the write continues although the call has failed.
func (w *webhook) applyFailurePolicy(ctx context.Context, err error) (failedOpen bool, _ error) {
	var failed *webhookutil.ErrCallingWebhook
	if !errors.As(err, &failed) {
		return false, err
	}
	if !w.ignores() {
		return false, apierrors.NewInternalError(err)
	}
	// When the request itself has ended, the write does not continue.
	return !errors.Is(failed.Reason, context.Canceled), timedOut(ctx)
}

// timedOut returns the response to a request that has timed out, or nil.
func timedOut(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done() // the timer of the call may have fired first, at the same moment
	}
	if ctx.Err() == nil {
		return nil
	}
	return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
}
