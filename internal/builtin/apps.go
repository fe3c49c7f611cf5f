package builtin

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	api "k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
)

// This file has the tables of the groups that run workloads (apps, batch), scale them and
// limit their disruption.

var apps = group{name: "apps", kinds: []kind{
	{
		kind: "ControllerRevision", plural: "controllerrevisions", singular: "controllerrevision",
		versions: v1, strategy: controllerrevision.Strategy,
	},
	{
		kind: "DaemonSet", plural: "daemonsets", singular: "daemonset", short: []string{"ds"}, categories: []string{"all"},
		versions: v1, annotations: []string{appsv1.DeprecatedTemplateGeneration}, strategy: daemonset.Strategy, subresources: status(daemonset.StatusStrategy),
	},
	{
		kind: "Deployment", plural: "deployments", singular: "deployment", short: []string{"deploy"}, categories: []string{"all"},
		versions: v1, annotations: []string{appsv1.DeprecatedRollbackTo}, strategy: deployment.Strategy,
		subresources: map[string]subresource{
			"scale":  {kind: scaleKind, scale: scaledDeployment},
			"status": {strategy: deployment.StatusStrategy},
		},
	},
	{
		kind: "ReplicaSet", plural: "replicasets", singular: "replicaset", short: []string{"rs"}, categories: []string{"all"},
		versions: v1, strategy: replicaset.Strategy, attributes: replicaset.GetAttrs,
		subresources: map[string]subresource{
			"scale":  {kind: scaleKind, scale: scaledReplicaSet},
			"status": {strategy: replicaset.StatusStrategy},
		},
	},
	{
		kind: "StatefulSet", plural: "statefulsets", singular: "statefulset", short: []string{"sts"}, categories: []string{"all"},
		versions: v1, strategy: statefulset.Strategy,
		subresources: map[string]subresource{
			"scale":  {kind: scaleKind, scale: scaledStatefulSet},
			"status": {strategy: statefulset.StatusStrategy},
		},
	},
}}

var autoscalers = group{name: "autoscaling", kinds: []kind{{
	kind: "HorizontalPodAutoscaler", plural: "horizontalpodautoscalers", singular: "horizontalpodautoscaler",
	short: []string{"hpa"}, categories: []string{"all"},
	versions: []string{"v2", "v1"}, strategy: horizontalpodautoscaler.Strategy,
	annotations: []string{
		autoscaling.MetricSpecsAnnotation, autoscaling.MetricStatusesAnnotation,
		autoscaling.BehaviorSpecsAnnotation, autoscaling.HorizontalPodAutoscalerConditionsAnnotation,
	},
	subresources: status(horizontalpodautoscaler.StatusStrategy),
}}}

var batch = group{name: "batch", kinds: []kind{
	{
		kind: "CronJob", plural: "cronjobs", singular: "cronjob", short: []string{"cj"}, categories: []string{"all"},
		versions: v1, strategy: cronjob.Strategy, subresources: status(cronjob.StatusStrategy),
	},
	{
		kind: "Job", plural: "jobs", singular: "job", categories: []string{"all"},
		versions: v1, strategy: job.Strategy, attributes: job.GetAttrs, subresources: status(job.StatusStrategy),
		deleteWarning: "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background " +
			"to remove them or set propagationPolicy=Orphan to suppress this warning",
	},
}}

var policy = group{name: "policy", kinds: []kind{{
	kind: "PodDisruptionBudget", plural: "poddisruptionbudgets", singular: "poddisruptionbudget", short: []string{"pdb"},
	versions: v1, strategy: poddisruptionbudget.Strategy, subresources: status(poddisruptionbudget.StatusStrategy),
}}}

var (
	scaledDeployment = scaledBy(func(d *api.Deployment) (*int32, int32, *metav1.LabelSelector) {
		return &d.Spec.Replicas, d.Status.Replicas, d.Spec.Selector
	})
	scaledReplicaSet = scaledBy(func(rs *api.ReplicaSet) (*int32, int32, *metav1.LabelSelector) {
		return &rs.Spec.Replicas, rs.Status.Replicas, rs.Spec.Selector
	})
	scaledStatefulSet = scaledBy(func(s *api.StatefulSet) (*int32, int32, *metav1.LabelSelector) {
		return &s.Spec.Replicas, s.Status.Replicas, s.Spec.Selector
	})
)
