package builtin

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	policyapi "k8s.io/kubernetes/pkg/apis/policy"
)

var podBudgets = policyapi.Resource("poddisruptionbudgets")

// budgets reads and updates the PodDisruptionBudgets of a namespace for evictions. It implements only the methods that
// upstream's eviction calls, which passes a context that never ends.
type budgets struct {
	policyv1client.PodDisruptionBudgetInterface
	ctx       context.Context // of the request; every method fails once it has ended
	cluster   Cluster
	namespace string
}

// PodDisruptionBudgets implements policyv1client.PodDisruptionBudgetsGetter.
func (b budgets) PodDisruptionBudgets(namespace string) policyv1client.PodDisruptionBudgetInterface {
	b.namespace = namespace
	return b
}

// Get implements policyv1client.PodDisruptionBudgetInterface.
func (b budgets) Get(_ context.Context, name string, _ metav1.GetOptions) (*policyv1.PodDisruptionBudget, error) {
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	obj, err := b.cluster.Object(podBudgets, b.namespace, name)
	if err != nil {
		return nil, err
	}
	return asBudget(obj)
}

// List implements policyv1client.PodDisruptionBudgetInterface.
func (b budgets) List(context.Context, metav1.ListOptions) (*policyv1.PodDisruptionBudgetList, error) {
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	objects, err := b.cluster.Objects(podBudgets, b.namespace)
	if err != nil {
		return nil, err
	}
	list := &policyv1.PodDisruptionBudgetList{}
	for _, obj := range objects {
		budget, err := asBudget(obj)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, *budget)
	}
	return list, nil
}

// UpdateStatus implements policyv1client.PodDisruptionBudgetInterface.
func (b budgets) UpdateStatus(_ context.Context, budget *policyv1.PodDisruptionBudget, _ metav1.UpdateOptions) (*policyv1.PodDisruptionBudget, error) {
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	return budget, b.cluster.UpdateStatus(podBudgets, budget)
}

// asBudget returns a copy of a budget, in the type of policy/v1.
func asBudget(obj runtime.Object) (*policyv1.PodDisruptionBudget, error) {
	budget := &policyv1.PodDisruptionBudget{}
	if err := legacyscheme.Scheme.Convert(obj, budget, nil); err != nil {
		return nil, err
	}
	return budget.DeepCopy(), nil
}
