package explore

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// selectorOf returns the selector of an object for Pods; nil: it has none, or an empty one.
func selectorOf(o state.Object) labels.Selector {
	field := "selector"
	switch o.Resource {
	case "services", "replicationcontrollers":
		wanted, _, err := unstructured.NestedStringMap(o.Object, "spec", "selector")
		if err != nil || len(wanted) == 0 {
			return nil
		}
		return labels.SelectorFromSet(wanted)
	case "networkpolicies.networking.k8s.io":
		field = "podSelector"
	case "deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps", "poddisruptionbudgets.policy":
	default:
		return nil
	}
	fields, _, _ := unstructured.NestedMap(o.Object, "spec", field)
	wanted := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, wanted); err != nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(wanted)
	if err != nil || selector.Empty() {
		return nil
	}
	return selector
}

// podLabels returns the labels of the Pods that a workload creates; nil: it creates none.
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

// checkSelectors checks that no object of one of two custom resources selects the Pods of the other one.
func (p *player) checkSelectors(objects []state.Object) {
	own, others := owned(objects, p.seed.name), owned(objects, p.beside.name)
	common := map[string]bool{} // what belongs to both
	for _, o := range own {
		common[o.Name()] = slices.ContainsFunc(others, func(other state.Object) bool { return other.Name() == o.Name() })
	}
	for _, selecting := range own {
		selector := selectorOf(selecting)
		for _, workload := range others {
			if common[selecting.Name()] || common[workload.Name()] {
				continue
			}
			pods := podLabels(workload)
			if selector == nil || pods == nil || selecting.GetNamespace() != workload.GetNamespace() || !selector.Matches(pods) {
				continue
			}
			resource, _, _ := strings.Cut(selecting.Name(), " ")
			p.report(problem{oracle: LeavesOthersAlone, key: "selects " + resource, step: p.step,
				what: fmt.Sprintf("%s of %s selects the Pods of %s, too, which belongs to %s: its selector is %s", selecting.Name(), p.seed.name, workload.Name(), p.beside.name, selector)})
			return
		}
	}
}
