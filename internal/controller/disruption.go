package controller

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/component-helpers/apps/poddisruptionbudget"
	endpointsliceutil "k8s.io/endpointslice/util"
)

var budgets = kind{policyv1.GroupName, "poddisruptionbudgets"}

const (
	// evictionTimeout is how long a Pod counts as gone after its eviction was allowed.
	evictionTimeout = 2 * time.Minute
	// staleDisruptionTimeout is how long a Pod may have the condition DisruptionTarget before its
	// deletion begins.
	staleDisruptionTimeout = 2 * time.Minute
)

// stalePod marks the keys of Pods with the condition DisruptionTarget. Other keys are those of
// PodDisruptionBudgets.
const stalePod = "pod"

// disruption keeps the status of PodDisruptionBudgets in line with the Pods that they select
// and with the scale of the controllers of these Pods.
func disruption() *controller {
	return &controller{
		identity: ServiceAccount("disruption-controller"),
		follows: []followed{
			{kind: budgets, begins: true, concerns: changed},
			{kind: pods, begins: true, concerns: budgetsOfPod},
		},
		sync: func(s *step, k key) error {
			if k.of == stalePod {
				return endStaleDisruption(s, k.namespace, k.name)
			}
			budget, err := find[*policyv1.PodDisruptionBudget](s, budgets, k.namespace, k.name)
			if err != nil || budget == nil {
				return err
			}
			return syncBudget(s, budget)
		},
	}
}

// budgetsOfPod adds the budget of a Pod. If several select it, it adds the first by name;
// upstream takes any of them.
func budgetsOfPod(s *step, c change) error {
	pod, err := is[*corev1.Pod](c)
	if err != nil {
		return err
	}
	if pod != nil {
		if _, stale := staleFrom(pod); stale {
			s.enqueue(key{of: stalePod, namespace: pod.Namespace, name: pod.Name})
		}
	} else if pod, err = was[*corev1.Pod](c); err != nil {
		return err
	}
	if len(pod.Labels) == 0 {
		return nil // upstream's lister finds no budget for it, not even one that selects all
	}
	some, err := all[*policyv1.PodDisruptionBudget](s, budgets, pod.Namespace, nil)
	if err != nil {
		return err
	}
	for _, budget := range some {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			s.enqueue(key{namespace: budget.Namespace, name: budget.Name})
			return nil
		}
	}
	return nil
}

// syncBudget brings the status of a budget up to date. If it cannot be computed, the status
// says so, and allows no disruption.
func syncBudget(s *step, budget *policyv1.PodDisruptionBudget) error {
	status, err := budgetStatus(s, budget)
	wanted := budget.DeepCopy()
	if err != nil {
		wanted.Status.DisruptionsAllowed = 0
		s.setCondition(&wanted.Status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason,
			Message: err.Error(), ObservedGeneration: wanted.Status.ObservedGeneration,
		})
		return s.update(budgets, wanted, "status")
	}
	status.Conditions, status.ObservedGeneration = wanted.Status.Conditions, budget.Generation
	if equality.Semantic.DeepEqual(status, budget.Status) && poddisruptionbudget.ConditionsAreUpToDate(budget) {
		return nil
	}
	wanted.Status = status
	condition := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse,
		Reason: policyv1.InsufficientPodsReason, ObservedGeneration: status.ObservedGeneration}
	if status.DisruptionsAllowed > 0 {
		condition.Status, condition.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	s.setCondition(&wanted.Status.Conditions, condition)
	return s.update(budgets, wanted, "status")
}

// setCondition sets a condition by the clock of the cluster.
func (s *step) setCondition(conditions *[]metav1.Condition, c metav1.Condition) {
	c.LastTransitionTime = metav1.NewTime(s.now())
	meta.SetStatusCondition(conditions, c)
}

// budgetStatus computes the status of a budget without its conditions.
func budgetStatus(s *step, budget *policyv1.PodDisruptionBudget) (status policyv1.PodDisruptionBudgetStatus, err error) {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return status, err
	}
	selected, err := all[*corev1.Pod](s, pods, budget.Namespace, selector)
	if err != nil {
		return status, err
	}
	if status.ExpectedPods, status.DesiredHealthy, err = expectedPods(s, budget, selected); err != nil {
		return status, err
	}
	now := s.now()
	status.DisruptedPods = map[string]metav1.Time{}
	for _, pod := range selected {
		if pod.DeletionTimestamp != nil {
			continue
		}
		since, disrupted := budget.Status.DisruptedPods[pod.Name]
		if end := since.Add(evictionTimeout); disrupted && !end.Before(now) {
			status.DisruptedPods[pod.Name] = since
			s.by(end.Add(1)) // just after it
			if end.After(now) {
				continue
			}
		}
		if endpointsliceutil.IsPodReady(pod) {
			status.CurrentHealthy++
		}
	}
	status.DisruptionsAllowed = max(status.CurrentHealthy-status.DesiredHealthy, 0)
	if status.ExpectedPods <= 0 {
		status.DisruptionsAllowed = 0
	}
	return status, nil
}

// expectedPods returns how many Pods a budget expects, and how many of them have to be
// healthy.
func expectedPods(s *step, budget *policyv1.PodDisruptionBudget, selected []*corev1.Pod) (expected, healthy int32, err error) {
	switch {
	case budget.Spec.MaxUnavailable != nil:
		if expected, err = expectedScale(s, selected); err != nil {
			return 0, 0, err
		}
		unavailable, err := intstr.GetScaledValueFromIntOrPercent(budget.Spec.MaxUnavailable, int(expected), true)
		return expected, max(expected-int32(unavailable), 0), err
	case budget.Spec.MinAvailable == nil:
		return 0, 0, nil
	case budget.Spec.MinAvailable.Type == intstr.Int:
		return int32(len(selected)), budget.Spec.MinAvailable.IntVal, nil
	}
	if expected, err = expectedScale(s, selected); err != nil {
		return 0, 0, err
	}
	available, err := intstr.GetScaledValueFromIntOrPercent(budget.Spec.MinAvailable, int(expected), true)
	return expected, int32(available), err
}

// expectedScale returns how many replicas the controllers of some Pods want, all together.
// Pods without a controller do not count.
func expectedScale(s *step, selected []*corev1.Pod) (int32, error) {
	scales := map[types.UID]int32{}
	for _, pod := range selected {
		owner := metav1.GetControllerOf(pod)
		if owner == nil {
			continue
		}
		if _, known := scales[owner.UID]; known {
			continue
		}
		uid, replicas, err := scaleOf(s, owner, pod.Namespace)
		if err != nil {
			return 0, err
		}
		if uid == "" {
			return 0, fmt.Errorf("found no controllers for pod %q", pod.Name)
		}
		scales[uid] = replicas
	}
	var total int32
	for _, replicas := range scales {
		total += replicas
	}
	return total, nil
}

var (
	replicaSets = kind{appsv1.GroupName, "replicasets"}
	deployments = kind{appsv1.GroupName, "deployments"}
)

// endStaleDisruption sets the condition DisruptionTarget of a Pod to False when the Pod has not
// been deleted in time.
func endStaleDisruption(s *step, namespace, name string) error {
	pod, err := find[*corev1.Pod](s, pods, namespace, name)
	if err != nil || pod == nil {
		return err
	}
	since, stale := staleFrom(pod)
	if !stale {
		return nil
	}
	if end := since.Add(staleDisruptionTimeout); end.After(s.now()) {
		s.by(end)
		return nil
	}
	wanted := pod.DeepCopy()
	i := slices.IndexFunc(wanted.Status.Conditions, isDisruption)
	wanted.Status.Conditions[i] = corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, ObservedGeneration: pod.Generation, LastTransitionTime: metav1.NewTime(s.now()),
	}
	return s.update(pods, wanted, "status")
}

func isDisruption(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget }

// staleFrom reports whether a Pod has the condition DisruptionTarget although its deletion has
// not begun, and since when. A kubelet may take any time to end a Pod, and a Pod that has
// ended needs no correction.
func staleFrom(pod *corev1.Pod) (since time.Time, stale bool) {
	i := slices.IndexFunc(pod.Status.Conditions, isDisruption)
	if i < 0 || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return since, false
	}
	c := pod.Status.Conditions[i]
	return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue && c.Reason != corev1.PodReasonTerminationByKubelet
}
