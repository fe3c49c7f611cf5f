package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// pods has the pod templates of workloads, and the pods that the operator has made itself, by the names of their
// objects.
type pods map[string]map[string]any

// podTemplates returns the pod templates among objects, and such pods.
func (p *player) podTemplates(objects []state.Object) pods {
	templates := pods{}
	for _, o := range objects {
		switch o.Resource {
		case "deployments.apps", "statefulsets.apps", "daemonsets.apps":
			if template, ok, _ := unstructured.NestedMap(o.Object, "spec", "template"); ok {
				templates[o.Name()] = template
			}
		case "pods":
			if p.makerOf(o.Unstructured) == operatorMaker {
				templates[o.Name()] = map[string]any{"uid": string(o.GetUID())}
			}
		}
	}
	return templates
}

// checkPods checks that an upgrade has not restarted pods.
func (p *player) checkPods(objects []state.Object) {
	if p.pods == nil {
		return
	}
	before, after := p.pods, p.podTemplates(p.unignored(objects))
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

// checkKept checks that the custom resource still has all fields that it had before the version was replaced.
// It may have new defaults.
func (p *player) checkKept(u *unstructured.Unstructured) {
	if p.wanted == nil || p.resource != p.seed.resource {
		return
	}
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	stateOf := func(spec map[string]any) state.State {
		return state.State{p.seed.name: {"spec": spec}}
	}
	for _, d := range state.Differences(stateOf(p.wanted), stateOf(spec), nil) {
		if !d.Added {
			oracle := Upgrades
			if p.installation != p.next {
				oracle = Downgrades
			}
			p.report(problem{oracle: oracle, key: "lost " + d.Path, step: p.step,
				what:   fmt.Sprintf("%s does not have the %s that it had before the upgrade:", p.seed.name, d.Path),
				detail: state.Diff(map[string]any{"spec": p.wanted}, map[string]any{"spec": spec})})
			return
		}
	}
}
