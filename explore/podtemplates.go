package explore

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// pods are the pod templates of workloads, and the pods that belong to no workload, by the names of their objects.
type pods map[string]map[string]any

// podTemplates returns the pods of objects.
func podTemplates(all []state.Object) pods {
	of := pods{}
	for _, o := range all {
		switch o.Resource {
		case "deployments.apps", "statefulsets.apps", "daemonsets.apps":
			if template, ok, _ := unstructured.NestedMap(o.Object, "spec", "template"); ok {
				of[o.Name()] = template
			}
		case "pods":
			if !slices.ContainsFunc(o.GetOwnerReferences(), func(r ownerReference) bool {
				return r.Kind == "ReplicaSet" || r.Kind == "StatefulSet" || r.Kind == "DaemonSet" || r.Kind == "Job"
			}) {
				of[o.Name()] = map[string]any{"uid": string(o.GetUID())}
			}
		}
	}
	return of
}

// checkPods checks that an upgrade has not restarted pods.
func (p *playing) checkPods(all []state.Object) {
	if p.pods == nil {
		return
	}
	before, after := p.pods, podTemplates(p.unignored(all))
	p.pods = nil
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if equality.Semantic.DeepEqual(before[name], after[name]) {
			continue
		}
		resource, _, _ := strings.Cut(name, " ")
		found := problem{oracle: KeepsPods, key: resource, step: p.step}
		switch {
		case after[name] == nil:
			found.what = "the upgrade deletes " + name
		case resource == "pods":
			found.what = "the upgrade replaces " + name
		default:
			found.what = "the upgrade changes the pod template of " + name + ", so that its pods are restarted:"
			found.detail = state.Diff(before[name], after[name])
		}
		p.report(found)
		return
	}
}
