package explore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/internal/printable"
)

// problems returns the problems of an outcome, and the differences from the states that are reached directly.
func (e *operatorExploration) problems(tr trial, out *outcome) []problem {
	found := slices.Clone(out.problems)
	slices.SortStableFunc(found, func(a, b problem) int { return cmp.Compare(restOrder(a), restOrder(b)) })
	over := false // before the step
	for _, c := range out.checkpoints {
		if slices.ContainsFunc(found, func(p problem) bool { return p.oracle == KeepsSpec && p.step <= c.step }) {
			break // that may be the cause of further differences
		}
		differences, compared := e.compare(tr, c, over)
		if len(differences) > 0 {
			return append(found, differences...)
		}
		over = tr.seed.isOver(c.state) && (compared || len(tr.fault) == 0) // after a fault, the end may be a false one
	}
	return found
}

// compare compares the state at a checkpoint with the state that is reached directly, by the steps desired.
// It returns each difference as a problem of its own, because some may be noise. over is true if the custom
// resource had run to its end before the step, as a Job does: then a change of the user has no effect, and a
// lost object need not come back. compared is false if there is no state to compare with.
func (e *operatorExploration) compare(tr trial, c checkpoint, over bool) (found []problem, compared bool) {
	switch {
	case c.neighbor != nil:
		return e.compareNeighbors(tr, c), false
	case c.occupied != "":
		return e.compareOccupied(tr, c), false
	}
	if c.desired == nil || !c.quiet || isPaused(c.object) {
		return nil, false
	}
	oracle := comparing(tr, c)
	if !e.subject.checks(oracle) {
		return nil, false
	}
	want := e.reference(tr, c).state()
	if want == nil {
		return nil, false
	}
	direct := e.reference(tr, c).checkpoint()
	if oracle == Recovers && len(tr.fault) == 0 && slices.ContainsFunc(tr.steps[:c.step+1], harms) && (hasEnded(direct.sinceRest()) || hasEnded(c.sinceRest())) {
		return nil, false
	}
	if c.failed && e.isFailed(tr, c) {
		return nil, false
	}
	if c.stuck != "" {
		return []problem{{oracle: oracle, key: "stuck " + kindOfRequest(c.stuck), step: c.step, what: "the operator is stuck, because the server refuses a request again and again", detail: c.stuck}}, true
	}
	differences := state.Differences(meaningful(want, tr.seed), meaningful(c.state, tr.seed), e.results.mask)
	if tr.steps[c.step].Rush && isChange(tr.steps[c.step]) && tr.seed.isOver(want) && tr.seed.isOver(c.state) {
		over = true // the change of the user may have come too late
	}
	differences = slices.DeleteFunc(differences, func(d state.Difference) bool {
		inSpec := d.Object == tr.seed.name && strings.HasPrefix(d.Path, "/spec")
		inStatus := strings.HasPrefix(d.Path, "/status")
		switch {
		case d.Added && d.Path == "" && outlives(d.Object, want, c.state):
			return true
		case d.Object == tr.seed.name && !inStatus && !tr.seed.defined && d.Added && !c.written:
			// The server sets some defaults of Kubernetes' own kinds by other fields, and keeps them when the user changes those.
			return true
		}
		return over && !(inSpec && tr.seed.defined) // the spec of a custom resource is compared all the same
	})
	if len(differences) > 0 && e.causedByCluster(tr.seed, func(string) bool { return true }, c, direct) {
		return nil, true
	}
	for _, d := range differences {
		if key := keyOf(d); !slices.ContainsFunc(found, func(p problem) bool { return p.key == key }) {
			found = append(found, problem{oracle: oracle, key: key, step: c.step, compared: true, what: describe(d, len(differences)-1),
				expected: c.desired, detail: state.Diff(want[d.Object], c.state[d.Object])})
		}
	}
	return found, true
}

// isChange reports whether a step changes the custom resource.
func isChange(s generate.Step) bool { return s.Verb == generate.Set || s.Verb == generate.Remove }

// kindOfRequest returns the verb and the resource of a line about a request, without the name of the object, which may be generated.
func kindOfRequest(line string) string {
	words := strings.Fields(line)
	return strings.TrimSuffix(strings.Join(words[:min(2, len(words))], " "), ":")
}

// isPaused reports whether spec.paused is true, so that the operator must change nothing.
func isPaused(object map[string]any) bool {
	paused, _, _ := unstructured.NestedBool(object, "spec", "paused")
	return paused
}

// isFailed reports whether the custom resource of a checkpoint cannot work: its status says so when it is
// created like that. For example, it refers to a Secret that does not exist, or has a value that makes no sense. An
// operator that reports so may keep the former objects running.
func (e *operatorExploration) isFailed(tr trial, c checkpoint) bool {
	possible := slices.DeleteFunc(slices.Clone(c.desired), func(s generate.Step) bool {
		return s.Verb == generate.Withdraw || s.Verb == generate.EditNeed || s.Verb == generate.Set || s.Verb == generate.Remove
	})
	return e.reference(tr, c).failed() && !e.reference(tr, checkpoint{desired: possible}).failed()
}

// meaningful returns a state without values that mean the same as no value: zero values in the spec of the
// custom resource, which clients with Go types often leave out, and conditions that are False in its status.
// It sorts lists of the custom resource whose order has no meaning.
func meaningful(s state.State, seed *seed) state.State {
	object := maps.Clone(s[seed.name])
	if object == nil {
		return s
	}
	object["spec"] = withoutZeros(object["spec"])
	status, _ := object["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	reported := map[string]any{}
	maps.Copy(reported, status)
	reported["conditions"] = slices.DeleteFunc(slices.Clone(conditions), func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["status"] == "False"
	})
	object["status"] = reported
	s = maps.Clone(s)
	s[seed.name], _ = inOneOrder(object, seed.schema).(map[string]any)
	return s
}

// keyOf is equal for the same difference of objects of the same resource.
func keyOf(d state.Difference) string {
	resource, _, _ := strings.Cut(d.Object, " ")
	if d.Path == "" {
		return resource + fmt.Sprint(" missing ", d.Missing)
	}
	return resource + d.Path
}

// harms reports whether a step deletes or changes an object of the operator, or makes its pods fail or
// recover.
func harms(s generate.Step) bool {
	return slices.Contains([]string{generate.Fail, generate.Heal, generate.DeleteOwned, generate.EditOwned}, s.Verb)
}

// hasEnded reports whether all workloads in a state are completed Jobs. Then the operator need not recover
// anything: whether a Job completes before its pods fail depends on the order.
func hasEnded(s state.State) bool {
	ended := false
	for name, object := range s {
		resource, _, _ := strings.Cut(name, " ")
		switch {
		case resource == "jobs.batch":
			_, completed := generate.Get(object, "/status/completionTime")
			ended = ended || completed
		case isWorkload(resource) && resource != "persistentvolumeclaims" && !isOfJob(object):
			return false
		}
	}
	return ended
}

// isOfJob reports whether an object belongs to a Job.
func isOfJob(object map[string]any) bool {
	owner := metav1.GetControllerOfNoCopy(&unstructured.Unstructured{Object: object})
	return owner != nil && owner.Kind == "Job"
}

// outlives reports whether an object is a claim from a template of a StatefulSet, such as data-db-2 of the
// StatefulSet db, or the volume of one. Such a claim remains when its Pod is gone.
func outlives(object string, states ...state.State) bool {
	for _, s := range states {
		if claim, isVolume, _ := unstructured.NestedStringMap(s[object], "spec", "claimRef"); isVolume {
			object = state.Name("persistentvolumeclaims", claim["namespace"], claim["name"])
		}
	}
	claim, isClaim := strings.CutPrefix(object, "persistentvolumeclaims ")
	namespace, name, _ := strings.Cut(claim, "/")
	for _, s := range states {
		for other := range s {
			set, isSet := strings.CutPrefix(other, "statefulsets.apps "+namespace+"/")
			if _, end, ok := strings.Cut(name, "-"+set+"-"); isClaim && isSet && ok && end != "" && strings.Trim(end, "0123456789") == "" {
				return true
			}
		}
	}
	return false
}

// endFields are fields of a status that are set when something has run to its end.
var endFields = []string{"completionTime", "completionTimestamp", "finishedAt", "terminalState"}

// isOver reports whether the custom resource has run to its end, as a Job does.
func (s *seed) isOver(reached state.State) bool {
	status, _ := reached[s.name]["status"].(map[string]any)
	hasEnd := func(field string) bool { return status[field] != nil }
	if slices.ContainsFunc(endFields, hasEnd) {
		return true
	}
	if !slices.ContainsFunc(endFields, func(field string) bool { _, has := s.schema.Properties["status"].Properties[field]; return has }) {
		return false
	}
	conditions, _ := status["conditions"].([]any) // a failed custom resource may not have such a field
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["type"] == "Failed" && condition["status"] == "True"
	})
}

// comparing returns the oracle that compares the state at a checkpoint.
func comparing(tr trial, c checkpoint) Oracle {
	took := func(verb string) bool {
		return slices.ContainsFunc(tr.steps[:c.step+1], func(s generate.Step) bool { return s.Verb == verb })
	}
	switch {
	case took(generate.Downgrade):
		return Downgrades
	case took(generate.Upgrade):
		return Upgrades
	case len(tr.fault) > 0 || slices.ContainsFunc(tr.steps[:c.step+1], disturbs):
		return Recovers
	}
	return PathIndependent
}

// describe returns a difference as a sentence.
func describe(d state.Difference, more int) string {
	var text string
	switch {
	case d.Path == "" && d.Missing:
		text = d.Object + " does not exist"
	case d.Path == "" && d.Added:
		text = d.Object + " exists"
	case d.Missing:
		text = fmt.Sprintf("%s does not have %s", d.Object, d.Path)
	case d.Added:
		text = fmt.Sprintf("%s has %s", d.Object, d.Path)
	default:
		text = fmt.Sprintf("%s has another %s", d.Object, d.Path)
	}
	if more > 0 {
		text += fmt.Sprintf(", and %s more", printable.Count(more, "difference"))
	}
	return text
}

// disturbs reports whether a step is a disturbance from which the operator must recover.
func disturbs(s generate.Step) bool {
	switch s.Verb {
	case generate.Restart, generate.Fail, generate.Heal, generate.DeleteOwned, generate.EditOwned, generate.Withdraw, generate.Provide:
		return true
	}
	return false
}
