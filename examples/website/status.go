package website

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setAvailable sets the condition that reports whether all pods serve the page.
func setAvailable(site *Website, available int32) {
	condition := metav1.Condition{
		Type: Available, Status: metav1.ConditionTrue, Reason: "AllServing",
		Message:            fmt.Sprintf("%d of %d pods serve the page", available, site.Spec.Replicas),
		ObservedGeneration: site.Generation,
	}
	if available < site.Spec.Replicas {
		condition.Status, condition.Reason = metav1.ConditionFalse, "Waiting"
	}
	meta.SetStatusCondition(&site.Status.Conditions, condition)
}

// setRefused reports that the server refuses what the Website needs.
func setRefused(site *Website, err error) {
	meta.SetStatusCondition(&site.Status.Conditions, metav1.Condition{
		Type: Available, Status: metav1.ConditionFalse, Reason: "Refused", Message: err.Error(),
		ObservedGeneration: site.Generation,
	})
}

// setRegistered sets the condition that reports whether the host belongs to the Website.
func setRegistered(site *Website, err error) {
	condition := metav1.Condition{
		Type: Registered, Status: metav1.ConditionTrue, Reason: "Registered",
		Message:            site.Spec.Host + " is registered for " + site.Status.Address,
		ObservedGeneration: site.Generation,
	}
	if err != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "Taken", err.Error()
	}
	meta.SetStatusCondition(&site.Status.Conditions, condition)
}

// record records an event for each condition whose status has changed. It is called when the
// status is stored: an update that fails is tried again, and would have recorded the event twice.
func (r *Reconciler) record(site *Website, before WebsiteStatus) {
	for _, condition := range site.Status.Conditions {
		former := meta.FindStatusCondition(before.Conditions, condition.Type)
		if former != nil && former.Status == condition.Status {
			continue
		}
		if former == nil && condition.Reason == "Waiting" {
			continue // every Website waits for its first pods
		}
		kind := corev1.EventTypeNormal
		if condition.Status == metav1.ConditionFalse {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(site, nil, kind, condition.Reason, "Reconcile", "%s", condition.Message)
	}
}
