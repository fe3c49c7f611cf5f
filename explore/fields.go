package explore

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// field has the results of the trials about a field of the spec.
type field struct {
	effect bool     // a trial that sets the field differs from one that does not
	unseen *witness // a trial that does not differ; nil: none
	plain  bool     // the field is one of plainFields, and the operator makes pods
	// values are the numbers that were tried, by the state to which they lead. equal is a trial with a number
	// that leads to the same state as another number; nil: none.
	values map[string]any
	equal  *witness
	// numbers has the numbers that were tried, and their places in other objects.
	numbers numbers
}

// plainFields are fields of a spec whose meaning for the pods and workloads of an operator is clear from
// their names. Other fields may have effects later, or outside of the cluster.
var plainFields = []string{"replicas", "image", "imagePullSecrets", "env", "args", "command", "nodeSelector", "tolerations", "serviceAccountName",
	"priorityClassName", "schedulerName", "runtimeClassName", "hostNetwork", "terminationGracePeriodSeconds"}

var (
	// labelFields matches the names of fields with labels or annotations for an object.
	labelFields = regexp.MustCompile(`(?i)(^|[a-z])(labels|annotations)$`)
	// choices matches the names of fields that select objects or labels.
	choices = regexp.MustCompile(`(?i)^match|select|ignore|exclude|drop`)
)

// isPlain reports whether the purpose of a field is clear from its name: it is one of plainFields, or has the
// labels or annotations of an object. The fields around it must not select objects, and must not disable it
// in the stored custom resource, which includes defaults.
func isPlain(path string, stored map[string]any) bool {
	elements := strings.Split(strings.TrimPrefix(path, "/spec/"), "/")
	name := elements[len(elements)-1]
	if len(elements) == 1 && slices.Contains(plainFields, name) {
		return true
	}
	chooses := func(name string) bool { return choices.MatchString(name) && !slices.Contains(plainFields, name) }
	if inTemplate(path) || slices.ContainsFunc(elements, chooses) {
		return false
	}
	above := strings.TrimSuffix(path, "/"+name)
	if len(elements) > 1 && labelFields.MatchString(elements[len(elements)-2]) {
		name, above = elements[len(elements)-2], strings.TrimSuffix(above, "/"+elements[len(elements)-2])
	}
	if enabled, set := generate.Get(stored, above+"/enabled"); set && enabled == false {
		return false
	}
	return slices.Contains(plainFields, name) || name == "suspend" || labelFields.MatchString(name)
}

// noteField records whether a trial that only sets a field of the spec has an effect. It compares the states
// that are reached directly, because an operator that does not notice a change is another problem.
func (e *operatorExploration) noteField(tr trial, out *outcome) {
	if !e.subject.checks(FieldsMatter) || len(tr.fault) > 0 || len(tr.steps) < 2 || tr.steps[0].Verb != generate.Create || len(out.checkpoints) < 2 ||
		len(tr.steps) > 2 && tr.steps[2].Rush {
		return
	}
	s, before, after := tr.steps[1], out.checkpoints[0], out.checkpoints[1]
	if s.Verb != generate.Set || s.Rush || !strings.HasPrefix(s.Path, "/spec/") || isZero(s.Value) || withoutEmpty(s.Value) == nil || after.desired == nil || before.desired == nil || !after.quiet || after.stuck != "" {
		return
	}
	old, changed := e.reference(tr, before).state(), e.reference(tr, after).state()
	if old == nil || changed == nil {
		return
	}
	if value, set := generate.Get(old[tr.seed.name], s.Path); set && same(value, s.Value) {
		return // it is the default
	}
	f := e.fieldOf(tr, before, s.Path)
	if slices.ContainsFunc(state.Differences(old, changed, nil), func(d state.Difference) bool {
		return d.Object != tr.seed.name || !strings.HasPrefix(d.Path, "/spec")
	}) {
		f.effect = true
		return
	}
	if f.unseen == nil {
		f.unseen = &witness{tr, out, problem{oracle: FieldsMatter, key: tr.seed.resource.GroupResource().String() + " " + s.Path, step: 1,
			what: fmt.Sprintf("no trial that sets %s has an effect: neither another object nor the status differs", s.Path)}}
	}
}

// fieldOf returns the results about a field.
func (e *operatorExploration) fieldOf(tr trial, before checkpoint, path string) *field {
	fields := e.results.summaryOf(tr.seed).fields
	if fields[path] == nil {
		fields[path] = &field{plain: isPlain(path, before.state[tr.seed.name]) && slices.ContainsFunc(before.owned, func(o state.Object) bool { return makesPods(o.Resource) })}
	}
	return fields[path]
}

// noteReplicas records the states to which numbers of replicas lead in a trial that changes them.
func (e *operatorExploration) noteReplicas(tr trial, out *outcome) {
	const path = "/spec/replicas"
	if !e.subject.checks(FieldsMatter) || len(tr.fault) > 0 || len(tr.steps) < 2 || tr.steps[1].Path != path || len(out.checkpoints) < 2 {
		return
	}
	f := e.fieldOf(tr, out.checkpoints[0], path)
	for _, c := range out.checkpoints[:2] {
		if c.desired == nil || !c.quiet || !f.plain {
			return
		}
		if r := e.reference(tr, c); r.state() != nil && !r.failed() { // the status may reject several numbers
			f.noteNumber(tr, out, path, r.state())
		}
	}
}

// noteNumber records the state to which a number in the spec leads. Two numbers of replicas that lead to the
// same state show a mistake: the operator takes zero for the default, or caps a number, without reporting it.
func (f *field) noteNumber(tr trial, out *outcome, path string, reached state.State) {
	value, set := generate.Get(reached[tr.seed.name], path)
	if !set {
		return
	}
	rest := maps.Clone(reached)
	object := maps.Clone(rest[tr.seed.name])
	delete(object, "spec")
	rest[tr.seed.name] = object
	key := fmt.Sprint(rest) // fmt sorts the keys of maps
	if f.values == nil {
		f.values = map[string]any{}
	}
	if former, known := f.values[key]; !known {
		f.values[key] = value
	} else if f.equal == nil && !same(former, value) {
		f.equal = &witness{tr, out, problem{oracle: FieldsMatter, key: tr.seed.resource.GroupResource().String() + " " + path + " equal", step: 1,
			what: fmt.Sprintf("%s %v leads to the same as %v: no other object differs, nor the status", path, value, former)}}
	}
}

// makesPods reports whether the objects of a resource have a template of pods, or are pods.
func makesPods(resource string) bool {
	return slices.Contains([]string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps", "jobs.batch", "cronjobs.batch", "pods"}, resource)
}

// fieldsWithoutEffect returns the trials of fields that have no effect in any trial, sorted by field.
func (w *seedSummary) fieldsWithoutEffect(resource string, each bool) (found []*witness) {
	for _, path := range slices.Sorted(maps.Keys(w.fields)) {
		f := w.fields[path]
		if f.unseen != nil && !f.effect && (each || f.plain) {
			found = append(found, f.unseen)
		} else if number := f.numbers.unfollowed(resource, path); number != nil {
			found = append(found, number)
		} else if f.equal != nil && f.effect {
			found = append(found, f.equal)
		}
	}
	return found
}
