package explore

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// isHindered reports whether controllers of a living cluster cannot do what they should with one of some
// objects: the last of their Events about it is a warning. For example, a new Pod fits on no Node, so that a
// Deployment keeps Pods of its former template.
func (p *player) isHindered(objects []state.Object) bool {
	managers := p.managers()
	events, err := p.run.cluster.Clientset().CoreV1().Events("").List(p.run.t.Context(), listOptions)
	if err != nil {
		return false
	}
	last, revisions := map[types.UID]string{}, map[types.UID]int64{} // types of Events, by the uid of their object
	for i := range events.Items {
		e := &events.Items[i]
		uid := e.InvolvedObject.UID
		if revision, err := strconv.ParseInt(e.ResourceVersion, 10, 64); err == nil && revision > revisions[uid] && !isWritten(e, managers) {
			last[uid], revisions[uid] = e.Type, revision
		}
	}
	return slices.ContainsFunc(objects, func(o state.Object) bool { return last[o.GetUID()] == corev1.EventTypeWarning })
}

// causedByCluster reports whether the cluster is the cause of the differences between a checkpoint and those that
// lead to its state directly: the operator and the trial have set the same, and controllers of the cluster have made
// something else of it, because they are hindered, or have a schedule. Statuses do not count as set by the operator,
// because they describe what the cluster has made.
func (e *operatorExploration) causedByCluster(s *seed, compared func(object string) bool, c checkpoint, direct ...checkpoint) bool {
	mayDiffer := c.hindered || e.results.scheduled[s.resource]
	wantOurs, wantOthers := state.State{}, state.State{}
	for _, d := range direct {
		mayDiffer = mayDiffer || d.hindered
		ours, others := d.parts(compared)
		maps.Copy(wantOurs, ours)
		maps.Copy(wantOthers, others)
	}
	if !mayDiffer {
		return false
	}
	ours, others := c.parts(compared)
	return len(state.Differences(wantOurs, ours, e.results.mask)) == 0 && len(state.Differences(wantOthers, others, e.results.mask)) > 0
}

// sinceRest returns the state of a checkpoint without what the cluster had before the steps.
func (c checkpoint) sinceRest() state.State {
	if c.living == nil {
		return c.state
	}
	return state.New(c.living)
}

// parts returns two parts of the objects of a checkpoint: without what only others than the operator and the
// trial have set, and without what only these have set.
func (c checkpoint) parts(compared func(object string) bool) (ours, others state.State) {
	part := func(isOurs bool) state.State {
		by := func(manager string) bool {
			return (c.managers[manager] || manager == createOptions.FieldManager) == isOurs
		}
		s := state.Part(c.living, func(o state.Object) map[string]any {
			kept := fieldsOf(o.Unstructured, by)
			if len(kept) == 0 {
				return nil
			}
			left, _ := withoutFields(o.Object, fieldsOf(o.Unstructured, func(manager string) bool { return !by(manager) }), kept).(map[string]any)
			if isOurs {
				left = maps.Clone(left)
				delete(left, "status")
			}
			return left
		})
		maps.DeleteFunc(s, func(name string, _ map[string]any) bool { return !compared(name) })
		return s
	}
	return part(true), part(false)
}

// learnSchedule records that controllers of the cluster have made other objects at another time, although the
// operator has set the same.
func (e *operatorExploration) learnSchedule(s *seed, one, other checkpoint) {
	everything := func(string) bool { return true }
	ours, others := one.parts(everything)
	oursThen, othersThen := other.parts(everything)
	if len(state.Differences(ours, oursThen, nil)) == 0 && slices.ContainsFunc(state.Differences(others, othersThen, nil), func(d state.Difference) bool { return d.Path == "" }) {
		e.results.scheduled[s.resource] = true
	}
}
