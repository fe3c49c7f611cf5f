package explore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/fakecluster/fakecluster/explore"
)

var (
	gadgets     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
	configMapR  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deploymentR = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// gadgetOperator makes spec.count ConfigMaps with spec.text for each Gadget, and reports how many. Each of its fields is a mistake.
type gadgetOperator struct {
	forgetsToShrink  bool // leaves ConfigMaps when count becomes smaller
	forgetsToDelete  bool // sets no owner
	reportsAlways    bool // writes the status whenever it is called
	readsPods        bool // lists what its role does not allow
	endsAtZero       bool // returns an error from Run if a count is 0
	panicsWithoutAll bool // panics without a mode
	deletesOthers    bool // deletes a ConfigMap that is not its own
	hidesGeneration  bool // sets no observedGeneration
	repeatsItself    bool // writes the status in each pass
	takesFromOthers  bool // writes into a ConfigMap that somebody else controls
	replacesMetadata bool // removes labels and annotations of others from ConfigMaps
	samePods         bool // the Deployments of all Gadgets have the same selector
	expression       bool // and an expression beside it, which tells them apart
	copiesLabels     bool // the Pods of a Gadget have its labels, which is no mistake
	sharedProxy      bool // there is one Deployment, which all Gadgets own, and that is no mistake
	countsForOthers  bool // reports a ConfigMap that somebody else controls as made

	// ledger returns the name of a ConfigMap of a Gadget beside the others; nil: there is none.
	ledger func(gadget string) string
	// image is that of a Deployment beside the ConfigMaps, and prefix that of the names of the ConfigMaps. They are no mistakes.
	image, prefix string
	// replicas returns those of the Deployment for spec.replicas; nil: there is no such field.
	replicas func(wanted int64) int64
	// ask is called for each reconcile; nil: nothing is called.
	ask func(name string) error
	// before is called for each reconcile with the Gadget of the cache, and may end it; nil: nothing is called.
	before func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (skip bool, err error)
}

func (o gadgetOperator) subject() explore.Subject {
	return explore.Subject{
		Install: []string{"testdata/gadget/crd.yaml", "testdata/gadget/rbac.yaml"},
		Roles:   []string{"testdata/gadget/rbac.yaml"},
		Seeds:   []string{"testdata/gadget/sample.yaml"},
		Run:     o.run,
	}
}

func (o gadgetOperator) run(ctx context.Context, config *rest.Config) error {
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
		case u.GetKind() == "Gadget":
			queue.Add(u.GetNamespace() + "/" + u.GetName())
		default:
			for _, owner := range u.GetOwnerReferences() {
				queue.Add(u.GetNamespace() + "/" + owner.Name)
			}
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue}
	for _, resource := range []schema.GroupVersionResource{gadgets, configMapR} {
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
	started := time.Now()
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return nil
		}
		err := o.reconcile(ctx, client, factory, key, started)
		if errors.Is(err, errBroken) {
			return err
		}
		if err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

func (o gadgetOperator) reconcile(ctx context.Context, client dynamic.Interface, factory dynamicinformer.DynamicSharedInformerFactory, key string, started time.Time) error {
	namespace, name, _ := strings.Cut(key, "/")
	obj, err := factory.ForResource(gadgets).Lister().ByNamespace(namespace).Get(name)
	if err != nil {
		return nil
	}
	if o.ask != nil {
		if err := o.ask(name); err != nil {
			return err
		}
	}
	gadget := obj.(*unstructured.Unstructured).DeepCopy()
	if o.before != nil {
		if skip, err := o.before(ctx, client, gadget); skip || err != nil {
			return err
		}
	}
	configMaps := client.Resource(configMapR).Namespace(namespace)
	count, _, _ := unstructured.NestedInt64(gadget.Object, "spec", "count")
	text, _, _ := unstructured.NestedString(gadget.Object, "spec", "text")
	mode, _, _ := unstructured.NestedString(gadget.Object, "spec", "mode")
	switch {
	case o.endsAtZero && count == 0:
		return errBroken
	case o.panicsWithoutAll && mode == "Safe":
		panic("no mode")
	case o.readsPods:
		if _, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("default").List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	if _, err := factory.ForResource(configMapR).Lister().Get("default/keep"); err == nil && o.deletesOthers {
		if err := configMaps.Delete(ctx, "keep", metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	if o.ledger != nil {
		ledger := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		ledger.SetName(o.ledger(name))
		ledger.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gadget", Name: gadget.GetName(), UID: gadget.GetUID(), Controller: new(true)}})
		if _, err := configMaps.Create(ctx, ledger, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if o.image != "" {
		if err := o.deploy(ctx, client, gadget); err != nil {
			return err
		}
	}
	name = o.prefix + name
	made := count
	for i := range int64(5) {
		key := fmt.Sprintf("%s/%s-%d", namespace, name, i)
		present, err := factory.ForResource(configMapR).Lister().Get(key)
		exists := err == nil
		want := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"text": text, "mode": mode}}}
		want.SetName(fmt.Sprintf("%s-%d", name, i))
		if !o.forgetsToDelete {
			want.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gadget", Name: gadget.GetName(), UID: gadget.GetUID()}})
		}
		switch {
		case i >= count && exists && !o.forgetsToShrink:
			err = configMaps.Delete(ctx, want.GetName(), metav1.DeleteOptions{})
		case i >= count:
			continue
		case !exists:
			_, err = configMaps.Create(ctx, want, metav1.CreateOptions{})
		default:
			now := present.(*unstructured.Unstructured).DeepCopy()
			if metav1.GetControllerOf(now) != nil && !o.takesFromOthers {
				if !o.countsForOthers {
					made--
				}
				continue
			}
			if fmt.Sprint(now.Object["data"]) == fmt.Sprint(want.Object["data"]) && fmt.Sprint(now.GetOwnerReferences()) == fmt.Sprint(want.GetOwnerReferences()) {
				continue
			}
			if o.replacesMetadata {
				now.SetLabels(nil)
				now.SetAnnotations(nil)
			}
			now.Object["data"] = want.Object["data"]
			now.SetOwnerReferences(want.GetOwnerReferences())
			_, err = configMaps.Update(ctx, now, metav1.UpdateOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	status := map[string]any{"observedGeneration": gadget.GetGeneration(), "made": made}
	if o.hidesGeneration {
		delete(status, "observedGeneration")
	}
	if o.reportsAlways {
		former, _, _ := unstructured.NestedInt64(gadget.Object, "status", "made")
		status["made"] = former%1000 + 1
	}
	if former, ok := gadget.Object["status"].(map[string]any); ok && fmt.Sprint(former) == fmt.Sprint(status) && !o.repeatsItself {
		return nil
	}
	gadget.Object["status"] = status
	_, err = client.Resource(gadgets).Namespace(namespace).UpdateStatus(ctx, gadget, metav1.UpdateOptions{})
	return err
}

// deploy applies the Deployment.
func (o gadgetOperator) deploy(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) error {
	labels := map[string]any{"of": gadget.GetName()}
	if o.samePods || o.sharedProxy {
		labels["of"] = "gadgets"
	}
	selector, pods := map[string]any{"matchLabels": labels}, maps.Clone(labels)
	if o.expression {
		pods["name"] = gadget.GetName()
		selector["matchExpressions"] = []any{map[string]any{"key": "name", "operator": "In", "values": []any{gadget.GetName()}}}
	}
	if o.copiesLabels {
		for key, value := range gadget.GetLabels() {
			pods[key] = value
		}
	}
	deployment := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{
		"selector": selector,
		"template": map[string]any{"metadata": map[string]any{"labels": pods}, "spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": o.image}}}},
	}}}
	if o.replicas != nil {
		wanted, _, _ := unstructured.NestedInt64(gadget.Object, "spec", "replicas")
		_ = unstructured.SetNestedField(deployment.Object, o.replicas(wanted), "spec", "replicas")
	}
	manager := "gadgets"
	deployment.SetName(gadget.GetName())
	if o.sharedProxy {
		deployment.SetName("proxy")
		manager += "-" + gadget.GetName()
	}
	deployment.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gadget", Name: gadget.GetName(), UID: gadget.GetUID()}})
	_, err := client.Resource(deploymentR).Namespace(gadget.GetNamespace()).Apply(ctx, deployment.GetName(), deployment, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}
