package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/inspect"
)

// mark is the key of the label and the annotation that a trial sets on an object as somebody else, and the
// finalizer that it sets on a custom resource.
const mark = "explore.example.com/set-by-somebody"

// child is an object that the operator creates for a custom resource, under a predictable name.
type child struct {
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	// reconciled is true if the operator writes the status of objects of the resource. Then it reconciles all
	// of them, and may set a finalizer.
	reconciled bool
}

// childrenOf returns the objects that the operator creates for a custom resource, by name.
func (e *operatorExploration) childrenOf(s *seed) map[string]child {
	return e.reference(trial{seed: s}, checkpoint{desired: []generate.Step{create}}).out.children
}

// noteChildren records those of the objects that the operator has created.
func (p *player) noteChildren(objects []state.Object) {
	p.out.children = map[string]child{}
	for _, o := range objects {
		if o.Name() == p.seed.name || o.Prefix() != "" || state.Ignored(o.Resource) {
			continue
		}
		if p.makerOf(o.Unstructured) == operatorMaker {
			p.out.children[o.Name()] = child{p.changed[o.Resource], o.Unstructured, p.reconciles(o.Resource)}
		}
	}
}

// occupies reports whether somebody else creates an object under a name of the operator in the trial.
func (t trial) occupies() bool {
	return slices.ContainsFunc(t.steps, func(s generate.Step) bool { return s.Verb == generate.Occupy })
}

// occupy creates an object of somebody else under the name of one that the operator creates. It has another
// controller, and none of the operator's labels.
func (p *player) occupy(name string) error {
	c, ok := p.children[name]
	if !ok {
		return fmt.Errorf("the operator does not make %s", name)
	}
	namespace, err := p.run.cluster.Clientset().CoreV1().Namespaces().Get(context.Background(), "default", getOptions)
	if err != nil {
		return err
	}
	fields := runtime.DeepCopyJSON(c.object.Object)
	delete(fields, "status")
	fields["metadata"] = map[string]any{"name": c.object.GetName(), "annotations": map[string]any{mark: "true"}, "ownerReferences": []any{
		map[string]any{"apiVersion": "v1", "kind": "Namespace", "name": namespace.Name, "uid": string(namespace.UID), "controller": true}}}
	if c.object.GetNamespace() != "" {
		unstructured.SetNestedField(fields, c.object.GetNamespace(), "metadata", "namespace")
	}
	for _, given := range [][]string{{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "volumeName"}, {"secrets"}} {
		unstructured.RemoveNestedField(fields, given...)
	}
	switch c.resource.Resource {
	case "configmaps", "secrets":
		for _, name := range []string{"binaryData", "immutable", "type"} {
			delete(fields, name)
		}
		fields["data"] = map[string]any{"owner": "c29tZWJvZHk="}
	}
	made, err := p.client.Resource(c.resource).Namespace(c.object.GetNamespace()).Create(context.Background(), &unstructured.Unstructured{Object: fields}, createOptions)
	if err == nil {
		p.occupied[name] = made
	}
	return err
}

// checkOccupied checks that the operator has not written or deleted an object that somebody else controls.
func (p *player) checkOccupied() {
	for _, name := range slices.Sorted(maps.Keys(p.occupied)) {
		resource, _, _ := strings.Cut(name, " ")
		found := problem{oracle: LeavesOthersAlone, key: "occupied " + resource, step: p.step}
		made := p.occupied[name]
		if p.operatorDeleted(made) {
			found.what = name + " belongs to somebody else, who is its controller, and the operator has deleted it"
			p.report(found)
			continue
		}
		before, now, reconciled := written(made), map[string]any(nil), p.children[name].reconciled
		revisions := map[int64]bool{}
		for _, r := range p.revisionsOf(made) {
			revisions[r.Revision] = true
			now = written(r.Object)
		}
		if reconciled {
			unstructured.RemoveNestedField(before, "metadata", "finalizers")
			unstructured.RemoveNestedField(now, "metadata", "finalizers")
			if equality.Semantic.DeepEqual(before, now) {
				continue
			}
		}
		for _, r := range p.operatorRequests() {
			if reconciled && r.Subresource == "status" {
				continue
			}
			if revisions[r.Revision] {
				found.what = fmt.Sprintf("%s belongs to somebody else, who is its controller, and the operator writes it: %s", name, p.line(r))
				found.detail = state.Diff(before, now)
				p.report(found)
				break
			}
		}
	}
}

// written returns an object without the fields that change with each write.
func written(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	u.SetManagedFields(nil)
	for _, noted := range []string{"resourceVersion", "generation"} {
		unstructured.RemoveNestedField(u.Object, "metadata", noted)
	}
	delete(u.Object, "status")
	return u.Object
}

// claims are the resources whose objects an operator needs for itself. It may use an existing ServiceAccount,
// Secret or claim of somebody else.
var claims = []string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch", "services", "configmaps", "ingresses.networking.k8s.io"}

// compareOccupied compares the status of a custom resource whose child belongs to somebody else with the
// status in the normal case.
func (e *operatorExploration) compareOccupied(tr trial, c checkpoint) []problem {
	if !c.quiet || c.stuck != "" || c.reported || c.desired == nil || !e.subject.checks(TruthfulStatus) {
		return nil
	}
	resource, _, _ := strings.Cut(c.occupied, " ")
	want := e.reference(tr, c).state()
	status, _ := want[tr.seed.name]["status"].(map[string]any)
	got, _ := c.state[tr.seed.name]["status"].(map[string]any)
	if len(status) == 0 || !slices.Contains(claims, resource) || len(state.Differences(state.State{"": status}, state.State{"": got}, nil)) > 0 {
		return nil
	}
	return []problem{{oracle: TruthfulStatus, key: "occupied " + resource, step: c.step,
		what: fmt.Sprintf("%s belongs to somebody else, and the status of %s is as if the operator had made it; no Event says it either", c.occupied, tr.seed.name)}}
}

// mark sets a label and an annotation on an object of the operator, or on the custom resource, which gets a finalizer, too.
func (p *player) mark(name string) error {
	for _, o := range p.objects() {
		if o.Name() != name {
			continue
		}
		set := map[string]any{mark: "true"}
		metadata := map[string]any{"labels": set, "annotations": set}
		if name == p.seed.name {
			metadata["finalizers"], metadata["resourceVersion"] = append(o.GetFinalizers(), mark), o.GetResourceVersion()
		}
		patch, err := json.Marshal(map[string]any{"metadata": metadata})
		if err == nil {
			_, err = p.client.Resource(p.changed[o.Resource]).Namespace(o.GetNamespace()).Patch(context.Background(), o.GetName(), types.MergePatchType, patch, patchOptions)
		}
		if err == nil {
			p.marked[name] = o.GetUID()
		}
		return err
	}
	return fmt.Errorf("the operator has not made %s", name)
}

// checkMarks checks that the operator has left the labels and annotations of others.
func (p *player) checkMarks(objects []state.Object) {
	for _, o := range objects {
		if p.marked[o.Name()] != o.GetUID() {
			continue
		}
		var lost []string
		if o.GetLabels()[mark] == "" {
			lost = append(lost, "label")
		}
		if o.GetAnnotations()[mark] == "" {
			lost = append(lost, "annotation")
		}
		if o.Name() == p.seed.name && !slices.Contains(o.GetFinalizers(), mark) {
			lost = append(lost, "finalizer")
		}
		if len(lost) == 0 {
			continue
		}
		line := ""
		for _, r := range p.operatorRequests() {
			if r.Revisions > 0 && state.Name(groupResource(r), r.Namespace, r.Name) == o.Name() {
				line = p.line(r)
			}
		}
		if line != "" {
			p.report(problem{oracle: LeavesOthersAlone, key: "marks " + o.Resource, step: p.step,
				what: fmt.Sprintf("the operator removes the %s that somebody else has set on %s: %s", strings.Join(lost, " and the "), o.Name(), line)})
			return
		}
	}
}

// releaseMark removes the finalizer of somebody else from a custom resource that was deleted. It reports
// whether it has done so.
func (p *player) releaseMark() bool {
	if p.exists || p.marked[p.seed.name] == "" {
		return false
	}
	delete(p.marked, p.seed.name)
	u := p.current()
	if u == nil {
		p.report(problem{oracle: LeavesOthersAlone, key: "finalizer " + p.seed.resource.Resource, step: p.step,
			what: fmt.Sprintf("%s is gone, although somebody else has set the finalizer %s: remove only your own", p.seed.name, mark)})
		return false
	}
	u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == mark }))
	_, err := p.customResources().Update(context.Background(), u, updateOptions)
	return err == nil
}

// withoutMarks removes the label, the annotation and the finalizer of somebody else, also from objects to
// which the operator has copied them.
func withoutMarks(objects []state.Object) []state.Object {
	unmarked := make([]state.Object, 0, len(objects))
	for _, o := range objects {
		_, label := o.GetLabels()[mark]
		if _, annotation := o.GetAnnotations()[mark]; label || annotation {
			o.Unstructured = o.DeepCopy()
			for _, field := range []string{"labels", "annotations"} {
				unstructured.RemoveNestedField(o.Object, "metadata", field, mark)
			}
			o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == mark }))
		}
		unmarked = append(unmarked, o)
	}
	return unmarked
}

// reconciles reports whether the operator has written the status of objects of a resource.
func (p *player) reconciles(resource string) bool {
	return slices.ContainsFunc(p.operatorRequests(), func(r inspect.Request) bool { return r.Subresource == "status" && groupResource(r) == resource })
}

// others runs the trials in which others mark the objects of the operator, or occupy their names.
func (e *operatorExploration) others(a *seedPlan) {
	if e.over() {
		return
	}
	change := a.effect()
	if change == nil {
		change = []generate.Step{restart}
	}
	var sequences [][]generate.Step
	for _, name := range slices.Sorted(maps.Keys(e.childrenOf(a.seed))) {
		sequences = append(sequences, []generate.Step{{Verb: generate.Occupy, Object: name}, create, remove},
			slices.Concat([]generate.Step{create, {Verb: generate.Mark, Object: name}}, change, []generate.Step{remove}))
	}
	e.runAll(trials(a.seed, sequences))
}
