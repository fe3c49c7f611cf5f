package builtin

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	policyapi "k8s.io/kubernetes/pkg/apis/policy"
	podstorage "k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// action is the effect of a create at a subresource, or for a kind that is not stored.
type action struct {
	accepts       []schema.GroupVersion // resource.Action.Accepts
	keepsMetadata bool                  // resource.Action.KeepsMetadata
	// storage returns upstream's storage, which carries out the action.
	storage func(context.Context) (registryrest.NamedCreater, error)
}

// actionOf returns the action of a version, at the subresource with a name or for the kind itself.
func (a *action) actionOf(v *resource.Version, kind schema.GroupVersionKind, name string) *resource.Action {
	view := viewAs(kind, v)
	view.FieldManager = viewFields(kind, name)
	return &resource.Action{
		View: view, Accepts: a.accepts, KeepsMetadata: a.keepsMetadata,
		Do: func(ctx context.Context, name string, obj runtime.Object, validate registryrest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
			storage, err := a.storage(ctx)
			if err != nil {
				return nil, err
			}
			return storage.Create(ctx, name, obj, validate, options)
		},
	}
}

// bindings returns upstream's storages of pods for bindings, which are in the context of a request.
var bindings = sync.OnceValues(func() (podstorage.PodStorage, error) { return newPods(nil) })

// evictions returns upstream's storages of pods for evictions of one request. They read and update budgets through a
// client with the context of the request.
func evictions(ctx context.Context) (podstorage.PodStorage, error) {
	c, err := ClusterFrom(ctx)
	if err != nil {
		return podstorage.PodStorage{}, err
	}
	return newPods(budgets{cluster: c, ctx: ctx})
}

func newPods(budgets policyclient.PodDisruptionBudgetsGetter) (podstorage.PodStorage, error) {
	return podstorage.NewStorage(overCluster{}, nil, nil, budgets, contextAuthorizer{})
}

var (
	binding = &action{keepsMetadata: true, storage: func(context.Context) (registryrest.NamedCreater, error) {
		pods, err := bindings()
		return pods.Binding, err
	}}
	eviction = &action{
		accepts: []schema.GroupVersion{{Group: policyapi.GroupName, Version: "v1beta1"}},
		storage: func(ctx context.Context) (registryrest.NamedCreater, error) {
			pods, err := evictions(ctx)
			return pods.Eviction, err
		},
	}
)
