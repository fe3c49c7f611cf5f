package explore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

var runners = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "runners"}

// runner applies the objects of a manifest for each Runner, and reports how many Pods are ready, and which object is refused.
type runner struct {
	// manifest is the objects as YAML. In it, $name is the name of the Runner, and $image that field of its spec.
	manifest string

	// Each of these is a mistake.
	once      bool // applies an object only if there is none
	ownerless bool // sets no owner
	orphans   bool // deletes an object without what belongs to it
	silent    bool // reports no refusal
	sweeps    bool // deletes all Pods when a Runner is deleted
}

// subject is the operator in a cluster with a Node.
func (o runner) subject() explore.Subject {
	return explore.Subject{
		Install:   []string{"testdata/runner/crd.yaml"},
		Seeds:     []string{"testdata/runner/sample.yaml"},
		Run:       o.run,
		Workloads: func(t testing.TB, c *fakecluster.Cluster) { workloads.Run(t, c, workloads.Nodes(1)) },
	}
}

func (o runner) run(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	enqueue := func(obj any) {
		u, ok := obj.(*unstructured.Unstructured)
		switch {
		case !ok:
		case u.GetKind() == "Runner":
			queue.Add(u.GetNamespace() + "/" + u.GetName())
		default:
			queue.Add(u.GetNamespace() + "/" + u.GetLabels()["of"])
			queue.Add(u.GetNamespace() + "/" + u.GetName()) // what somebody else has made has no label
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue}
	objects, err := o.objects(&unstructured.Unstructured{Object: map[string]any{}})
	if err != nil {
		return err
	}
	resources := []schema.GroupVersionResource{runners}
	for _, u := range objects {
		resources = append(resources, resourceOf(u))
	}
	for _, resource := range resources {
		if _, err := factory.ForResource(resource).Informer().AddEventHandler(handler); err != nil {
			return err
		}
	}
	defer factory.Shutdown()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	context.AfterFunc(ctx, queue.ShutDown)
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return nil
		}
		if err := o.reconcile(ctx, client, factory, resources, key); err != nil && !apierrors.IsNotFound(err) {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

// objects returns the objects of a Runner.
func (o runner) objects(r *unstructured.Unstructured) (objects []*unstructured.Unstructured, err error) {
	spec, _, _ := unstructured.NestedMap(r.Object, "spec")
	text := os.Expand(o.manifest, func(field string) string {
		if field == "name" {
			return r.GetName()
		}
		value, _ := json.Marshal(spec[field])
		return string(value)
	})
	for document := range strings.SplitSeq(text, "---\n") {
		asJSON, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(asJSON); err != nil {
			return nil, err
		}
		if u.GetName() == "" {
			u.SetName(r.GetName())
		}
		u.SetNamespace(r.GetNamespace())
		u.SetLabels(map[string]string{"of": r.GetName()})
		if !o.ownerless {
			u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Runner", Name: r.GetName(), UID: r.GetUID(), Controller: new(true)}})
		}
		objects = append(objects, u)
	}
	return objects, nil
}

func resourceOf(u *unstructured.Unstructured) schema.GroupVersionResource {
	return u.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(u.GetKind()) + "s")
}

func (o runner) reconcile(ctx context.Context, client dynamic.Interface, factory dynamicinformer.DynamicSharedInformerFactory, resources []schema.GroupVersionResource, key string) error {
	namespace, name, _ := strings.Cut(key, "/")
	obj, err := factory.ForResource(runners).Lister().ByNamespace(namespace).Get(name)
	if apierrors.IsNotFound(err) && o.sweeps {
		return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	}
	if err != nil {
		return err
	}
	r := obj.(*unstructured.Unstructured).DeepCopy()
	objects, err := o.objects(r)
	if err != nil {
		return err
	}
	ready, refused := int64(0), ""
	for _, u := range objects {
		present, err := factory.ForResource(resourceOf(u)).Lister().ByNamespace(namespace).Get(u.GetName())
		if err == nil {
			controller := metav1.GetControllerOf(present.(*unstructured.Unstructured))
			if controller != nil && controller.UID != r.GetUID() {
				refused = u.GetKind() + " belongs to somebody else: not allowed"
				continue
			}
		}
		if err != nil || !o.once {
			u, err = client.Resource(resourceOf(u)).Namespace(namespace).Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: "runner", Force: true})
		} else {
			u = present.(*unstructured.Unstructured)
		}
		if err != nil && !apierrors.IsInvalid(err) {
			return err
		} else if err != nil {
			refused = err.Error()
			continue
		}
		n, _, _ := unstructured.NestedInt64(u.Object, "status", "readyReplicas")
		ready += n
	}
	if err := o.prune(ctx, client, factory, resources[1:], r, objects); err != nil {
		return err
	}
	status := map[string]any{"observedGeneration": r.GetGeneration(), "ready": ready}
	if refused != "" && !o.silent {
		status["refused"] = refused
	}
	if fmt.Sprint(r.Object["status"]) != fmt.Sprint(status) {
		r.Object["status"] = status
		if _, err := client.Resource(runners).Namespace(namespace).UpdateStatus(ctx, r, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if refused != "" {
		return errBroken
	}
	return nil
}

// prune deletes the objects that a Runner does not need any more.
func (o runner) prune(ctx context.Context, client dynamic.Interface, factory dynamicinformer.DynamicSharedInformerFactory, resources []schema.GroupVersionResource, r *unstructured.Unstructured, needed []*unstructured.Unstructured) error {
	policy := metav1.DeletePropagationBackground
	if o.orphans {
		policy = metav1.DeletePropagationOrphan
	}
	for _, resource := range resources {
		list, err := factory.ForResource(resource).Lister().ByNamespace(r.GetNamespace()).List(labels.SelectorFromSet(labels.Set{"of": r.GetName()}))
		if err != nil {
			return err
		}
		for _, obj := range list {
			u := obj.(*unstructured.Unstructured)
			if !metav1.IsControlledBy(u, r) || u.GetDeletionTimestamp() != nil || slices.ContainsFunc(needed, func(n *unstructured.Unstructured) bool { return n.GetName() == u.GetName() }) {
				continue
			}
			if err := client.Resource(resource).Namespace(u.GetNamespace()).Delete(ctx, u.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}
