package explore

import (
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// whole is what all trials of a seed show together: that something happens in none of them.
type whole struct {
	generation bool     // status.observedGeneration was set
	without    *witness // the first trial at whose end it was not, although the operator has written a status; nil: there is none
	fields     map[string]*field
	pauses     bool                // a change of a custom resource that is paused had no effect
	unpaused   map[string]*witness // the first that had one, by the field of the spec
}

// witness is a trial that shows a problem.
type witness struct {
	trial   trial
	outcome *outcome
	problem problem
}

// wholeOf returns what the trials of a seed show together.
func (r *results) wholeOf(s *seed) *whole {
	if r.wholes[s] == nil {
		r.wholes[s] = &whole{fields: map[string]*field{}, unpaused: map[string]*witness{}}
	}
	return r.wholes[s]
}

// addTrial adds a trial.
func (w *whole) addTrial(tr trial, out *outcome) {
	w.generation = w.generation || out.generation
	if out.without != nil && w.without == nil {
		w.without = &witness{tr, out, *out.without}
	}
}

// checkWhole reports what no trial has shown.
func (e *operatorExploration) checkWhole() {
	for _, s := range e.seeds {
		w := e.results.wholeOf(s)
		var found []*witness
		if w.without != nil && !w.generation {
			found = append(found, w.without)
		}
		// What the subject ignores may be the effect.
		each := slices.Contains(e.subject.With, FieldsMatter)
		if each || len(e.subject.Ignore) == 0 {
			if paths := slices.Sorted(maps.Keys(w.unpaused)); !w.pauses && (len(paths) > 1 || len(paths) > 0 && e.subject.Replay != "") {
				found = append(found, w.unpaused[paths[0]])
			}
			found = append(found, w.fieldsWithoutEffect(s.resource.GroupResource().String(), each)...)
		}
		for _, shown := range found {
			if !e.results.keys[shown.problem.id()] {
				e.report(shown.trial, shown.outcome, shown.problem)
			}
		}
	}
}

// observes reports whether the schema of a custom resource has status.observedGeneration.
func observes(schema *apiextensionsv1.JSONSchemaProps) bool {
	_, has := schema.Properties["status"].Properties["observedGeneration"]
	return has
}

// noteGeneration notes whether the operator, which is done, has set status.observedGeneration.
func (p *playing) noteGeneration(u *unstructured.Unstructured) {
	if !p.seed.observes || !p.subject.checks(TruthfulStatus) {
		return
	}
	if n, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); n != 0 {
		p.out.generation = true
		return
	}
	if p.out.without != nil {
		return
	}
	for _, r := range p.operatorRequests() {
		if r.Revisions > 0 && r.Subresource == "status" && r.Name == u.GetName() && r.Resource == p.resource.Resource && r.Group == p.resource.Group {
			p.out.without = &problem{oracle: TruthfulStatus, key: "no generation " + p.resource.GroupResource().String(), step: p.step,
				what: fmt.Sprintf("the schema of %s has status.observedGeneration, and the operator writes the status without it, here and in all other trials", p.resource.GroupResource())}
			return
		}
	}
}
