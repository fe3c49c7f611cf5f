package controller

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var jobs = kind{batchv1.GroupName, "jobs"}

// ttlAfterFinished deletes a Job, and its dependents before it, when it has been finished for
// its ttlSecondsAfterFinished.
func ttlAfterFinished() *controller {
	return &controller{
		account: "ttl-after-finished-controller",
		follows: []followed{{kind: jobs, begins: true, concerns: func(_ *step, c change, add func(namespace, name string)) error {
			job, err := is[*batchv1.Job](c)
			if err == nil && job != nil && job.DeletionTimestamp == nil && job.Spec.TTLSecondsAfterFinished != nil {
				add(job.Namespace, job.Name)
			}
			return err
		}}},
		keep: func(s *step, key types.NamespacedName) error {
			job, err := find[*batchv1.Job](s, jobs, key.Namespace, key.Name)
			if err != nil || job == nil || job.DeletionTimestamp != nil || job.Spec.TTLSecondsAfterFinished == nil {
				return err
			}
			i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
				return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
			})
			if i < 0 {
				return nil
			}
			finished := job.Status.Conditions[i].LastTransitionTime
			if finished.IsZero() {
				return fmt.Errorf("unable to find the time when the Job %s/%s finished", job.Namespace, job.Name)
			}
			if end := finished.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second); end.After(s.now()) {
				s.by(end)
				return nil
			}
			policy := metav1.DeletePropagationForeground
			return s.delete(jobs, job, metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &job.UID}})
		},
	}
}
