package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// numbers has the effects of the numbers that were tried in a field of the spec. An operator that copies two
// of them into another object, and not a third, caps that number, or takes zero for the default, without
// reporting it.
type numbers struct {
	tried map[int64]*effect
}

// effect is the effect of one number.
type effect struct {
	numbers map[string]int64 // in other objects, by their places
	trial   trial
	outcome *outcome
}

// noteNumbers records the effect of a number in a trial that changes it.
func (e *operatorExploration) noteNumbers(tr trial, out *outcome) {
	if !e.subject.checks(FieldsMatter) || len(tr.fault) > 0 || len(tr.steps) < 2 || tr.steps[0].Verb != generate.Create || tr.steps[1].Verb != generate.Set || len(out.checkpoints) < 2 ||
		len(tr.steps) > 2 && tr.steps[2].Rush {
		return
	}
	path := tr.steps[1].Path
	if _, isNumber := tr.steps[1].Value.(int64); !isNumber || !strings.HasPrefix(path, "/spec/") || inTemplate(path) {
		return
	}
	f := e.fieldOf(tr, out.checkpoints[0], path)
	if f.numbers.tried == nil {
		f.numbers.tried = map[int64]*effect{}
	}
	for _, c := range e.withNumbers(tr, out.checkpoints[:2]) {
		if c.desired == nil || !c.quiet {
			return
		}
		r := e.reference(tr, c)
		reached := r.state()
		if reached == nil {
			continue
		}
		value, _ := generate.Get(reached[tr.seed.name], path)
		n, isNumber := value.(int64)
		if !isNumber || r.failed() || f.numbers.tried[n] != nil || n == 0 && !allowsZero(tr.seed.schema, path) {
			continue // the status may reject several numbers
		}
		led := &effect{map[string]int64{}, tr, out}
		for name, object := range reached {
			if name != tr.seed.name {
				collectNumbers(name, object, led.numbers)
			}
		}
		f.numbers.tried[n] = led
	}
}

// withNumbers adds checkpoints for the other numbers that an exploration tries in the field, if this is a
// replay, which has no other trials.
func (e *operatorExploration) withNumbers(tr trial, checkpoints []checkpoint) []checkpoint {
	if e.subject.Replay == "" {
		return checkpoints
	}
	checkpoints = slices.Clone(checkpoints)
	for _, c := range generate.Changes(tr.seed.schema, tr.seed.object.Object) {
		if _, isNumber := c.Steps[0].Value.(int64); isNumber && c.Steps[0].Path == tr.steps[1].Path {
			checkpoints = append(checkpoints, checkpoint{desired: append(slices.Clone(c.Steps), create), quiet: true})
		}
	}
	return checkpoints
}

// collectNumbers collects the whole numbers in the fields of a value, by their places. The place of a list
// item contains its name, or its index and the length of the list, because indexes change if a number adds or
// removes items.
func collectNumbers(place string, value any, found map[string]int64) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			if name != "status" {
				collectNumbers(place+"/"+name, field, found)
			}
		}
	case []any:
		for i, item := range value {
			key := fmt.Sprintf("%d of %d", i, len(value))
			if fields, isMap := item.(map[string]any); isMap && fields["name"] != nil {
				key = fmt.Sprint(fields["name"])
			}
			collectNumbers(place+"/"+key, item, found)
		}
	case int64:
		found[place] = value
	}
}

// unfollowed returns the trial of a number that is missing at a place to which two others were copied; nil:
// none. One copied number may be chance.
func (n numbers) unfollowed(resource, path string) *witness {
	var tried []int64
	places := map[string][]int64{} // where numbers come as they are
	for _, value := range slices.Sorted(maps.Keys(n.tried)) {
		tried = append(tried, value)
		for place, number := range n.tried[value].numbers {
			if number == value {
				places[place] = append(places[place], value)
			}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		followed := places[place]
		if len(followed) < 2 {
			continue
		}
		for _, value := range tried {
			led := n.tried[value]
			if number, has := led.numbers[place]; has && number != value {
				return &witness{led.trial, led.outcome, problem{oracle: FieldsMatter, key: resource + " " + path + " number", step: 1,
					what: fmt.Sprintf("%s %d leads to %d at %s, where %d comes as it is, and the status does not say that", path, value, number, place, followed[0])}}
			}
		}
	}
	return nil
}

// allowsZero reports whether zero is a value like others in a schema: it is the minimum, or the default is
// another number.
func allowsZero(s *apiextensionsv1.JSONSchemaProps, path string) bool {
	for element := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		switch property, ok := s.Properties[element]; {
		case ok:
			s = &property
		case s.Items != nil && s.Items.Schema != nil:
			s = s.Items.Schema
		case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
			s = s.AdditionalProperties.Schema
		default:
			return false
		}
	}
	return s.Minimum != nil && *s.Minimum == 0 || s.Default != nil && string(s.Default.Raw) != "0"
}

// inTemplate reports whether a field belongs to a template, whose fields the operator may set itself.
func inTemplate(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(element string) bool { return strings.HasSuffix(strings.ToLower(element), "template") })
}

// notePause records whether the operator has followed a change of a paused custom resource.
func (e *operatorExploration) notePause(tr trial, out *outcome) {
	if !e.subject.checks(FieldsMatter) || len(tr.fault) > 0 || len(tr.steps) != 3 || len(out.checkpoints) != 3 || tr.steps[0].Verb != generate.Create ||
		tr.steps[1].Path != pausedPath || tr.steps[1].Value != true || !isPaused(out.checkpoints[2].object) {
		return
	}
	before, after := out.checkpoints[1], out.checkpoints[2]
	if !before.quiet || !after.quiet || e.t.shard.count > 1 {
		return // another shard may have the changes that have no effect
	}
	w := e.results.summaryOf(tr.seed)
	differences := slices.DeleteFunc(state.Differences(before.state, after.state, e.results.mask), func(d state.Difference) bool { return d.Object == tr.seed.name })
	if len(differences) == 0 {
		w.pauses = true
	} else if path := topField(tr.steps[2].Path); w.unpaused[path] == nil {
		w.unpaused[path] = &witness{tr, out, problem{oracle: FieldsMatter, key: tr.seed.resource.GroupResource().String() + " " + pausedPath, step: 2,
			what: fmt.Sprintf("%s is paused, and the operator follows this change as all others: %s", tr.seed.name, describe(differences[0], len(differences)-1))}}
	}
}

// pausedPath is the field with which users pause an operator.
const pausedPath = "/spec/paused"

// topField returns the path of the field of the spec that a path leads through.
func topField(path string) string {
	elements := strings.Split(path, "/")
	return strings.Join(elements[:min(len(elements), 3)], "/")
}

// pausedChanges is how many fields are changed in a custom resource that is paused.
const pausedChanges = 4

// pauses returns trials that change a paused custom resource, in ways that have an effect otherwise. Each
// changes another field of the spec, because an operator may follow some fields on purpose: a paused
// Deployment is still scaled.
func (a *seedPlan) pauses() (sequences [][]generate.Step) {
	if a.seed.schema.Properties["spec"].Properties["paused"].Type != "boolean" {
		return nil
	}
	pause := generate.Step{Verb: generate.Set, Path: pausedPath, Value: true}
	changed := map[string]bool{pausedPath: true}
	for _, c := range a.effective {
		if path := topField(c.Steps[0].Path); len(c.Steps) == 1 && !changed[path] && len(sequences) < pausedChanges {
			changed[path] = true
			sequences = append(sequences, []generate.Step{create, pause, c.Steps[0]})
		}
	}
	return sequences
}
