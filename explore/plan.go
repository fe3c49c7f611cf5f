package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// Steps without arguments.
var (
	create   = generate.Step{Verb: generate.Create}
	remove   = generate.Step{Verb: generate.Delete}
	restart  = generate.Step{Verb: generate.Restart}
	fail     = generate.Step{Verb: generate.Fail}
	heal     = generate.Step{Verb: generate.Heal}
	neighbor = generate.Step{Verb: generate.Neighbor}
	namesake = generate.Step{Verb: generate.Namesake}

	upgrade   = generate.Step{Verb: generate.Upgrade}
	downgrade = generate.Step{Verb: generate.Downgrade}
	rewrite   = generate.Step{Verb: generate.Rewrite}
)

// rush returns a step that follows without a pause.
func rush(s generate.Step) generate.Step {
	s.Rush = true
	return s
}

// seedPlan has the objects and changes from which the trials of a seed are made.
type seedPlan struct {
	seed  *seed
	owned []string        // names of objects of the operator
	edits []generate.Step // edits of these objects, to values that the operator itself sets
	// needEdits are edits of objects that the custom resource needs.
	needEdits []generate.Step
	changes   []generate.Change // changes that the server accepts
	// effective are the changes that have an effect on other objects. writes are the writes of the operator after a create.
	effective []generate.Change
	writes    schedule
}

// plan runs all trials in a fixed order: the corpus, the life cycle of each seed, each change, each fault,
// and then random sequences until the exploration is over. A shard runs its part of them, and random
// sequences of its own.
func (e *operatorExploration) plan() error {
	e.replayCorpus()
	var seeds []*seedPlan
	for _, s := range e.seeds {
		a, err := e.life(s)
		if err != nil {
			return err
		}
		seeds = append(seeds, a)
	}
	for _, a := range seeds {
		e.changes(a)
		e.disturbances(a)
		e.others(a)
	}
	e.longNames()
	for _, a := range seeds {
		e.users(a)
	}
	for _, a := range seeds {
		e.faults(a)
	}
	random := rand.New(rand.NewPCG(e.subject.Seed, 1+uint64(e.t.shard.index)))
	for !e.over() {
		var trials []trial
		for range chunk {
			trials = append(trials, seeds[random.IntN(len(seeds))].sequence(random))
		}
		e.runAll(trials)
	}
	return nil
}

// life runs the trials of a custom resource without changes: create, delete, restarts, failures and the like.
func (e *operatorExploration) life(s *seed) (*seedPlan, error) {
	first := trial{seed: s, steps: []generate.Step{create, remove}}
	out := e.runAll([]trial{first})[0]
	if out.rejected != "" && out.rejected != notRun {
		return nil, fmt.Errorf("the seed %s cannot be created: %s: correct the sample in Subject.Seeds, or give one if there is none", s.name, out.rejected)
	}
	a := &seedPlan{seed: s}
	if len(out.checkpoints) > 0 {
		for _, o := range out.checkpoints[0].owned {
			if !state.Ignored(o.Resource) {
				name := o.Name()
				if prefix := o.Prefix(); prefix != "" {
					name = state.Name(o.Resource, o.GetNamespace(), prefix+"*1")
				}
				if !slices.Contains(a.owned, name) {
					a.owned = append(a.owned, name)
				}
			}
		}
	}
	lives := [][]generate.Step{
		{create, restart, remove},
		{create, remove, create, remove},
		{create, fail, heal, remove},
		{fail, create, heal, remove},
		{create, rush(remove)},
		{create, remove, rush(create)},
		{create, {Verb: generate.Mark, Object: s.name}, remove},
		{create, neighbor, remove},
		{neighbor, create, restart},
		{create, fail, restart, heal},
	}
	for _, name := range a.owned {
		lives = append(lives, []generate.Step{create, {Verb: generate.DeleteOwned, Object: name}, remove})
	}
	for _, n := range s.needs {
		withdraw, provide := generate.Step{Verb: generate.Withdraw, Object: n.name}, generate.Step{Verb: generate.Provide, Object: n.name}
		lives = append(lives, []generate.Step{withdraw, create, provide, remove}, []generate.Step{create, withdraw, provide, remove}, []generate.Step{create, withdraw, remove})
		a.needEdits = append(a.needEdits, n.edits()...)
	}
	if s.namesake != nil && s.isServedEverywhere(out) {
		lives = append(lives, []generate.Step{create, namesake, remove}, []generate.Step{namesake, create, restart})
	}
	for _, edit := range a.needEdits {
		lives = append(lives, []generate.Step{create, edit, remove})
	}
	e.runAll(e.inShard(trials(s, lives)))
	return a, nil
}

func trials(s *seed, sequences [][]generate.Step) (made []trial) {
	for _, steps := range sequences {
		made = append(made, trial{seed: s, steps: steps})
	}
	return made
}

// changes runs each change of a property, and its undoing. A change that the server rejects is made before
// the object is created. A change that cannot be undone is not undone.
func (e *operatorExploration) changes(a *seedPlan) {
	changes, elsewhere := e.t.shard.changes(generate.Changes(a.seed.schema, a.seed.object.Object))
	var steps [][]generate.Step
	for _, c := range changes {
		steps = append(steps, slices.Concat([]generate.Step{create}, c.Steps, c.Undo, []generate.Step{remove}))
	}
	outcomes := e.runAll(trials(a.seed, steps))
	var others [][]generate.Step
	for i, out := range outcomes {
		c := changes[i]
		if a.makesJobs() && len(out.checkpoints) > 1 { // which have ended in the trial above
			others = append(others, slices.Concat([]generate.Step{fail, create}, c.Steps, []generate.Step{heal}))
		}
		switch {
		case out.rejected == notRun:
		case out.rejected == "":
			a.changes = append(a.changes, c)
			a.learnEdits(out)
			if a.hasEffect(out) {
				a.effective = append(a.effective, c)
			}
			if c.Steps[0].Value == true { // it may disable something that a delete needs
				others = append(others, slices.Concat([]generate.Step{create}, c.Steps, []generate.Step{remove}))
			}
			if c.Steps[0].Verb == generate.Remove { // the operator may generate the value
				others = append(others, slices.Concat(c.Steps, []generate.Step{create, restart, remove}))
			}
		case len(out.checkpoints) > 1:
			others = append(others, slices.Concat([]generate.Step{create}, c.Steps, []generate.Step{remove}))
			a.changes = append(a.changes, generate.Change{Steps: c.Steps})
		default:
			others = append(others, slices.Concat(c.Steps, []generate.Step{create, restart, remove}))
		}
	}
	e.runAll(trials(a.seed, slices.Concat(a.pauses(), others)))
	a.changes = append(a.changes, elsewhere...)
}

// makesJobs reports whether the operator makes Jobs.
func (a *seedPlan) makesJobs() bool {
	return slices.ContainsFunc(a.owned, func(name string) bool { return strings.HasPrefix(name, "jobs.batch ") })
}

// learnEdits derives edits from the effect of a change: the fields that the operator changes in its objects,
// and their values. If somebody else sets these, the operator must set them back.
func (a *seedPlan) learnEdits(out *outcome) {
	if len(out.checkpoints) < 2 {
		return
	}
	c := out.checkpoints[1]
	before, after := out.checkpoints[0].state, c.state
	for _, name := range a.owned {
		i := slices.IndexFunc(c.owned, func(o state.Object) bool { return isNamed(o, name) })
		if before[name] == nil || after[name] == nil || i < 0 {
			continue
		}
		for _, f := range state.Changed(before[name], after[name]) {
			if !isSet(c.owned[i].Unstructured, f.Path, c.managers) || strings.HasPrefix(f.Path, "/metadata") || strings.HasPrefix(f.Path, "/status") || strings.HasPrefix(name, "secrets ") || strings.ContainsAny(f.Path, " ;&") {
				continue
			}
			if !slices.ContainsFunc(a.edits, func(s generate.Step) bool { return s.Object == name && s.Path == f.Path }) {
				a.edits = append(a.edits, generate.Step{Verb: generate.EditOwned, Object: name, Path: f.Path, Value: f.Value})
			}
		}
	}
}

// hasEffect reports whether other objects than the custom resource have changed after the second step.
func (a *seedPlan) hasEffect(out *outcome) bool {
	return len(out.checkpoints) > 1 && slices.ContainsFunc(state.Differences(out.checkpoints[0].state, out.checkpoints[1].state, nil),
		func(d state.Difference) bool { return d.Object != a.seed.name })
}

// effect returns a change that has an effect on other objects; nil: there is none. It prefers a change that
// sets a field, because a removed field may leave no object to compare.
func (a *seedPlan) effect() []generate.Step {
	for _, c := range a.effective {
		if c.Steps[0].Verb == generate.Set {
			return c.Steps
		}
	}
	if len(a.effective) > 0 {
		return a.effective[0].Steps
	}
	return nil
}

// disturbances runs the trials in which somebody edits the operator's objects, or creates a neighbor.
func (e *operatorExploration) disturbances(a *seedPlan) {
	var sequences [][]generate.Step
	if change := a.effect(); change != nil {
		sequences = append(sequences, slices.Concat([]generate.Step{create}, change, []generate.Step{neighbor, restart, remove}))
	}
	for _, edit := range a.edits {
		sequences = append(sequences, []generate.Step{create, edit, remove})
	}
	e.runAll(trials(a.seed, sequences))
}

// changesWithFaults is how many changes are tried with each fault.
const changesWithFaults = 3

// faults runs the life cycle of a seed, and some changes, with each fault at each point.
func (e *operatorExploration) faults(a *seedPlan) {
	bases := [][]generate.Step{{create, remove}}
	for _, c := range a.changes[:min(len(a.changes), changesWithFaults)] {
		bases = append(bases, slices.Concat([]generate.Step{create}, c.Steps))
	}
	seen := map[string]bool{}
	for _, steps := range bases {
		if e.over() {
			return
		}
		base := trial{seed: a.seed, steps: steps}
		out := e.runAll([]trial{base})[0]
		if out.rejected != "" || out.run == nil {
			continue
		}
		points, _ := (&exploration{}).pointsOf(out.run)
		var found []trial
		for _, p := range points {
			if p.effect == late && e.subject.RealTime > 0 {
				continue // such a trial takes minutes
			}
			if text := p.String(); !seen[text] {
				seen[text] = true
				found = append(found, trial{seed: a.seed, steps: steps, fault: schedule{p}})
			}
		}
		e.runAll(e.inShard(found))
	}
}

// sequence returns a random trial.
func (a *seedPlan) sequence(random *rand.Rand) trial {
	t := trial{seed: a.seed, steps: []generate.Step{create}}
	if random.IntN(8) == 0 && len(a.writes) > 0 && len(a.changes) > 0 {
		t.fault = schedule{a.writes[random.IntN(len(a.writes))]}
		t.steps = append(t.steps, rushed(a.changes[random.IntN(len(a.changes))].Steps)...)
		return t
	}
	exists := true
	gone := map[string]bool{}
	for range 2 + random.IntN(4) {
		var next []generate.Step
		switch n := random.IntN(20); {
		case !exists:
			next = []generate.Step{create}
			exists = true
		case n < 12 && len(a.changes) > 0:
			c := a.changes[random.IntN(len(a.changes))]
			next = slices.Clone(c.Steps)
		case n < 13:
			next = []generate.Step{restart}
		case n < 15:
			next = []generate.Step{remove}
			exists = false
		case n < 16:
			next = []generate.Step{fail}
		case n < 17:
			next = []generate.Step{heal}
		case n < 18 && len(a.owned) > 0:
			next = []generate.Step{{Verb: generate.DeleteOwned, Object: a.owned[random.IntN(len(a.owned))]}}
		case n < 19 && len(a.seed.needs) > 0:
			need := a.seed.needs[random.IntN(len(a.seed.needs))].name
			next = []generate.Step{{Verb: generate.Withdraw, Object: need}}
			if gone[need] {
				next[0].Verb = generate.Provide
			}
			gone[need] = !gone[need]
		case len(a.edits) > 0:
			next = []generate.Step{a.edits[random.IntN(len(a.edits))]}
		}
		if len(next) > 0 && random.IntN(4) == 0 && next[0].Verb != generate.DeleteOwned && next[0].Verb != generate.EditOwned {
			next[0].Rush = true
		}
		t.steps = append(t.steps, next...)
	}
	if exists && random.IntN(2) == 0 {
		t.steps = append(t.steps, remove)
	}
	return t
}
