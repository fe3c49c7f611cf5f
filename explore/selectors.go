package explore

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// selectorOf returns which Pods an object is for; nil: it has no selector, or an empty one.
func selectorOf(o state.Object) labels.Selector {
	path := []string{"spec", "selector", "matchLabels"}
	switch o.Resource {
	case "services", "replicationcontrollers":
		path = path[:2]
	case "networkpolicies.networking.k8s.io":
		path[1] = "podSelector"
	case "deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps", "poddisruptionbudgets.policy":
	default:
		return nil
	}
	wanted, _, err := unstructured.NestedStringMap(o.Object, path...)
	if err != nil || len(wanted) == 0 {
		return nil
	}
	return labels.SelectorFromSet(wanted)
}

// podLabels returns the labels of the Pods that a workload makes; nil: it makes none.
func podLabels(o state.Object) labels.Set {
	if !makesPods(o.Resource) || o.Resource == "pods" || o.Resource == "cronjobs.batch" || o.Resource == "jobs.batch" {
		return nil
	}
	found, _, err := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
	if err != nil {
		return nil
	}
	return found
}

// checkSelectors checks that what belongs to one of two custom resources does not select the Pods of the other one.
func (p *playing) checkSelectors(objects []state.Object) {
	for _, selecting := range owned(objects, p.seed.name) {
		selector := selectorOf(selecting)
		for _, workload := range owned(objects, p.seed.neighbor.name) {
			pods := podLabels(workload)
			if selector == nil || pods == nil || selecting.GetNamespace() != workload.GetNamespace() || !selector.Matches(pods) {
				continue
			}
			resource, _, _ := strings.Cut(selecting.Name(), " ")
			p.report(problem{oracle: LeavesOthersAlone, key: "selects " + resource, step: p.step,
				what: fmt.Sprintf("%s of %s selects the Pods of %s, too, which belongs to %s: its selector is %s", selecting.Name(), p.seed.name, workload.Name(), p.seed.neighbor.name, selector)})
			return
		}
	}
}
