package controller

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var jobs = kind{batchv1.GroupName, "jobs"}

// ttlAfterFinished deletes a Job, and its dependents before it, when it has been finished for
// its ttlSecondsAfterFinished.
func ttlAfterFinished() *controller {
	return &controller{
		identity: ServiceAccount("ttl-after-finished-controller"),
		follows: []followed{{kind: jobs, begins: true, concerns: func(s *step, c change) error {
			job, err := is[*batchv1.Job](c)
			if err == nil && job != nil && job.DeletionTimestamp == nil && job.Spec.TTLSecondsAfterFinished != nil {
				s.enqueue(key{namespace: job.Namespace, name: job.Name})
			}
			return err
		}}},
		sync: func(s *step, k key) error {
			job, err := find[*batchv1.Job](s, jobs, k.namespace, k.name)
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
