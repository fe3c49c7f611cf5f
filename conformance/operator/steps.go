package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// stepTimeout is the time after which a step fails that waits for something. What works
// takes milliseconds.
const stepTimeout = 5 * time.Second

// step is a thing that the operator, or the server for it, has to do.
type step struct {
	name  string
	needs string // a step without which this one cannot be tried; empty: none
	do    func(*operator, context.Context) error
}

const (
	elected = "the manager is elected leader"
	created = "a greeting is created"
)

var steps = []step{
	{elected, "", (*operator).elected},
	{"the webhooks are registered", "", (*operator).registered},
	{"the validating webhook refuses a greeting", "the webhooks are registered", (*operator).refused},
	{created, "", (*operator).create},
	{"the defaulting webhook gave it a language", created, (*operator).defaulted},
	{"the reconciler adds its finalizer", elected, (*operator).finalizer},
	{"the reconciler applies the ConfigMap", elected, (*operator).applied},
	{"the ConfigMap's fields belong to the controller", "the reconciler applies the ConfigMap", (*operator).managed},
	{"the reconciler sets the condition Ready", elected, (*operator).ready},
	{"the reconciler makes the Deployment", elected, (*operator).deployed},
	{"the reconciler makes the Service, which gets an address", elected, (*operator).exposed},
	{"a second pass finds nothing to change", "the reconciler makes the Service, which gets an address", (*operator).unchanged},
	{"an event names the Deployment, in both groups", "the reconciler makes the Deployment", (*operator).recorded},
	{"the status of the Deployment becomes the condition Served", "the reconciler makes the Deployment", (*operator).served},
	{"a Deployment that is scaled is scaled back", "the reconciler makes the Deployment", (*operator).scaledBack},
	{"an update of the greeting reaches the ConfigMap", "the reconciler applies the ConfigMap", (*operator).updated},
	{"a ConfigMap that is deleted comes back", "the reconciler applies the ConfigMap", (*operator).recreated},
	{"a deleted greeting is gone when its finalizer ran", "the reconciler adds its finalizer", (*operator).finalized},
	{"the ConfigMap is deleted with its owner", "a deleted greeting is gone when its finalizer ran", (*operator).collected},
	{"the Deployment and the Service are deleted with their owner", "a deleted greeting is gone when its finalizer ran", (*operator).undeployed},
	{"the manager stops and releases its lease", elected, (*operator).released},
	{"the operator has requested what its role allows, and nothing else", elected, (*operator).roleFits},
	{"a rule that is taken away from the role is named", elected, (*operator).missingRule},
}

// play does the steps in turn.
func (o *operator) play(ctx context.Context) []verdict.Result {
	var results []verdict.Result
	failed := map[string]bool{}
	for _, s := range steps {
		result := verdict.Result{Name: s.name, Verdict: verdict.Pass}
		err := errors.New("needs: " + s.needs)
		if !failed[s.needs] {
			started := time.Now()
			stepCtx, cancel := context.WithTimeoutCause(ctx, stepTimeout, errors.New("it did not happen"))
			err = s.do(o, stepCtx)
			cancel()
			result.Time = time.Since(started)
		}
		if err != nil {
			failed[s.name] = true
			result.Verdict, result.Reason = verdict.Fail, verdict.Reason(err.Error())
		}
		results = append(results, result)
	}
	return results
}

const greetingName = "hello"

var key = types.NamespacedName{Namespace: core.NamespaceDefault, Name: greetingName}

func newGreeting(name, text string) *Greeting {
	return &Greeting{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name},
		Spec:       GreetingSpec{Text: text},
	}
}

func (o *operator) elected(ctx context.Context) error {
	select {
	case <-o.manager.Elected():
		return nil
	case err := <-o.stopped:
		o.stopped <- err
		return fmt.Errorf("the manager stopped: %w", err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (o *operator) refused(ctx context.Context) error {
	err := o.client.Create(ctx, newGreeting("silent", ""), client.DryRunAll)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), refusal) {
		return fmt.Errorf("creating a greeting without text: %v", err)
	}
	return nil
}

func (o *operator) create(ctx context.Context) error {
	return o.client.Create(ctx, newGreeting(greetingName, "Hello!"))
}

func (o *operator) defaulted(ctx context.Context) error {
	greeting := &Greeting{}
	if err := o.client.Get(ctx, key, greeting); err != nil {
		return err
	}
	if greeting.Spec.Language != defaultLanguage {
		return fmt.Errorf("its language is %q", greeting.Spec.Language)
	}
	return nil
}

func (o *operator) finalizer(ctx context.Context) error {
	return until(ctx, o, greetingResource, "", func(_ watch.EventType, g *Greeting) bool {
		return slices.Contains(g.Finalizers, finalizer)
	})
}

func (o *operator) applied(ctx context.Context) error { return o.configMapSays(ctx, "", "Hello!") }

func (o *operator) configMapSays(ctx context.Context, since, text string) error {
	return until(ctx, o, configMapResource, since, func(_ watch.EventType, c *core.ConfigMap) bool {
		return c.Data["text"] == text
	})
}

func (o *operator) managed(ctx context.Context) error {
	configMap := &core.ConfigMap{}
	if err := o.client.Get(ctx, key, configMap); err != nil {
		return err
	}
	for _, entry := range configMap.ManagedFields {
		if entry.Manager == fieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply {
			return nil
		}
	}
	return fmt.Errorf("managedFields: %v", configMap.ManagedFields)
}

func (o *operator) ready(ctx context.Context) error {
	return until(ctx, o, greetingResource, "", func(_ watch.EventType, g *Greeting) bool {
		condition := meta.FindStatusCondition(g.Status.Conditions, ready)
		return condition != nil && condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == g.Generation
	})
}

func (o *operator) updated(ctx context.Context) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"text":"Good evening!"}}`))
	if err := o.client.Patch(ctx, newGreeting(greetingName, ""), patch); err != nil {
		return err
	}
	return o.configMapSays(ctx, "", "Good evening!")
}

func (o *operator) recreated(ctx context.Context) error {
	configMap := &core.ConfigMap{}
	if err := o.client.Get(ctx, key, configMap); err != nil {
		return err
	}
	if err := o.client.Delete(ctx, configMap); err != nil {
		return err
	}
	return until(ctx, o, configMapResource, configMap.ResourceVersion, func(event watch.EventType, c *core.ConfigMap) bool {
		return event == watch.Added && c.UID != configMap.UID
	})
}

func (o *operator) finalized(ctx context.Context) error {
	greeting := &Greeting{}
	if err := o.client.Get(ctx, key, greeting); err != nil {
		return err
	}
	if err := o.client.Delete(ctx, greeting); err != nil {
		return err
	}
	err := until(ctx, o, greetingResource, greeting.ResourceVersion, func(event watch.EventType, _ *Greeting) bool {
		return event == watch.Deleted
	})
	if err != nil {
		return err
	}
	select {
	case <-o.farewells:
		return nil
	case <-ctx.Done():
		return errors.New("the finalizer did not run")
	}
}

func (o *operator) collected(ctx context.Context) error {
	return o.gone(ctx, configMapResource, &core.ConfigMap{})
}

// gone waits until the object of the greeting's name is deleted.
func (o *operator) gone(ctx context.Context, resource schema.GroupVersionResource, object client.Object) error {
	err := o.client.Get(ctx, key, object)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	return until(ctx, o, resource, object.GetResourceVersion(), func(event watch.EventType, _ *metav1.PartialObjectMetadata) bool {
		return event == watch.Deleted
	})
}

func (o *operator) released(ctx context.Context) error {
	o.stop()
	// The manager's context has ended, and with it the one of this step.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), 2*stepTimeout, errors.New("it did not happen"))
	defer cancel()
	select {
	case err := <-o.stopped:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return errors.New("the manager did not stop")
	}
	lease := &coordination.Lease{}
	if err := o.client.Get(ctx, types.NamespacedName{Namespace: core.NamespaceDefault, Name: leaseName}, lease); err != nil {
		return err
	}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		return fmt.Errorf("the lease is held by %s", *holder)
	}
	return nil
}

var configMapResource = core.SchemeGroupVersion.WithResource("configmaps")

// until watches the object of the greeting's name in a resource until it is as it
// should be. It sees the object as it is now and every change from there on, or with
// a resourceVersion every change since that.
func until[T any](ctx context.Context, o *operator, resource schema.GroupVersionResource, since string, met func(watch.EventType, *T) bool) error {
	w, err := o.cluster.Dynamic().Resource(resource).Namespace(key.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + key.Name, ResourceVersion: since,
	})
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case event, ok := <-w.ResultChan():
			if !ok {
				return errors.Join(errors.New("the watch ended"), context.Cause(ctx))
			}
			content, isObject := event.Object.(*unstructured.Unstructured)
			if !isObject {
				return apierrors.FromObject(event.Object)
			}
			object := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, object); err != nil {
				return err
			}
			if met(event.Type, object) {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
