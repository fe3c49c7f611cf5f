package webhook

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/fakecluster/fakecluster/internal/admission"
)

// Validate implements admission.Plugin.
func (w *Webhooks) Validate(ctx context.Context, write *admission.Write) error {
	if len(w.validating) == 0 || rules.IsExemptAdmissionConfigurationResource(write) {
		return nil
	}
	seen := cached{write: write, versioned: map[schema.GroupVersionKind]*upstream.VersionedAttributes{}}
	var calls []*validation
	for _, hook := range w.validating {
		to, err := hook.match(ctx, write, write, seen, admission.Validating)
		if err != nil {
			return err
		}
		if to == nil {
			continue
		}
		attr, err := seen.in(to.kind)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		calls = append(calls, &validation{hook: hook, to: to, attr: attr, index: len(calls)})
	}
	if len(calls) == 0 {
		return nil
	}
	if err := timedOut(ctx); err != nil {
		return err
	}
	return callAll(ctx, write, calls)
}

// cached has an immutable write in the versions that were needed.
type cached struct {
	write     *admission.Write
	versioned map[schema.GroupVersionKind]*upstream.VersionedAttributes
}

func (c cached) in(kind schema.GroupVersionKind) (*upstream.VersionedAttributes, error) {
	if attr := c.versioned[kind]; attr != nil {
		return attr, nil
	}
	attr, err := upstream.NewVersionedAttributes(c.write, kind, c.write)
	if err != nil {
		return nil, err
	}
	c.versioned[kind] = attr
	return attr, nil
}

// validation is one call of a webhook.
type validation struct {
	hook  *webhook
	to    *invocation
	attr  *upstream.VersionedAttributes
	index int
	err   error
}

// callAll makes all calls concurrently and waits for them. It makes the last one on the calling goroutine.
func callAll(ctx context.Context, write *admission.Write, calls []*validation) error {
	var others sync.WaitGroup
	last := calls[len(calls)-1]
	for _, c := range calls[:len(calls)-1] {
		others.Go(func() { c.do(ctx, write) })
	}
	last.do(ctx, write)
	others.Wait()
	for _, c := range calls {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

func (c *validation) do(ctx context.Context, write *admission.Write) {
	defer func() {
		if p := recover(); p != nil {
			c.err = apierrors.NewInternalError(fmt.Errorf("ValidatingAdmissionWebhook/%v has panicked: %v", c.hook.Name, p))
		}
	}()
	made := call{began: time.Now(), validates: true}
	var err error
	made.response, err = c.hook.call(ctx, write, c.attr, c.to, false)
	c.hook.record(write, made, err)
	if err == nil {
		return
	}
	failedOpen, err := c.hook.applyFailurePolicy(ctx, err)
	if failedOpen {
		annotate(c.attr, fmt.Sprintf("failed-open.validating.webhook.admission.k8s.io/round_0_index_%d", c.index), c.hook.Name)
		return
	}
	c.err = err
}
