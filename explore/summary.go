package explore

import (
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// seedSummary has the results of all trials of a seed together, to find what happens in none of them.
type seedSummary struct {
	generation bool     // status.observedGeneration was set
	without    *witness // the first trial in which it was not, although the operator has written a status; nil: none
	fields     map[string]*field
	pauses     bool                // a change of a paused custom resource had no effect
	unpaused   map[string]*witness // by field of the spec: the first change of a paused custom resource that had an effect
}

// witness is a trial that shows a problem.
type witness struct {
	trial   trial
	outcome *outcome
	problem problem
}

// summaryOf returns the summary of a seed.
func (r *results) summaryOf(s *seed) *seedSummary {
	if r.summaries[s] == nil {
		r.summaries[s] = &seedSummary{fields: map[string]*field{}, unpaused: map[string]*witness{}}
	}
	return r.summaries[s]
}

// addTrial adds a trial.
func (w *seedSummary) addTrial(tr trial, out *outcome) {
	w.generation = w.generation || out.generation
	if out.without != nil && w.without == nil {
		w.without = &witness{tr, out, *out.without}
	}
}

// checkSummaries reports what no trial has shown, such as an effect of a field.
func (e *operatorExploration) checkSummaries() {
	for _, s := range e.seeds {
		w := e.results.summaryOf(s)
		var found []*witness
		if w.without != nil && !w.generation {
			found = append(found, w.without)
		}
		// The effect of a field may be in an ignored object.
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

// noteGeneration records whether the operator has set status.observedGeneration when it is quiet.
func (p *player) noteGeneration(u *unstructured.Unstructured) {
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
