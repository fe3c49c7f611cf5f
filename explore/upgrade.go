package explore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
)

// Upgrade explores the upgrade of an operator from one version to another, and the downgrade. Each
// trial creates custom resources in a cluster with the old version, stops it, installs the
// definitions and roles of the new version in a snapshot of this cluster, and starts the new
// version. Then the oracles Upgrades, KeepsPods and Downgrades check the result, in addition to
// those that [Operator] checks for the new version. Each finding fails t as one of Operator does.
//
// The custom resources are the Seeds of from; further trials change each of their fields once. Trials,
// MaxFindings, Seed, With, Without, Ignore, Replay and RealTime are those of to. Findings are, for example, a
// definition without a conversion that the new version needs, a lost field, an object that can no longer be
// updated, and a changed pod template.
//
// docs/explore-operator.md describes how to get two versions of an operator into one test.
func Upgrade(t *testing.T, from, to Subject) {
	t.Helper()
	began := time.Now()
	test := localTest(t)
	found, err := test.find(test.publisher(to.Replay == ""), from, to)
	test.log(found, err, began)
}

// FindUpgrade explores an upgrade as [Upgrade] does, and returns what it has found instead of failing. It does not read or write
// testdata/explore. The errors are those of [FindOperator], for either version.
func FindUpgrade(t *testing.T, from, to Subject) (Found, error) {
	t.Helper()
	return localTest(t).find(nil, from, to)
}

func newUpgradeExploration(t test, from, to Subject) (*operatorExploration, error) {
	to.takeFlags(t.flags)
	if err := to.check(t.flags); err != nil {
		return nil, fmt.Errorf("the new version: %w", err)
	}
	from.Trials, from.MaxFindings, from.Seed = to.Trials, to.MaxFindings, to.Seed
	from.With, from.Without, from.Ignore, from.Replay, from.RealTime = to.With, to.Without, to.Ignore, to.Replay, to.RealTime
	e, err := newOperatorExploration(t, from)
	if err != nil {
		return nil, fmt.Errorf("the old version: %w", err)
	}
	if e.next, err = newInstallation(to); err != nil {
		e.close()
		return nil, fmt.Errorf("the new version: %w", err)
	}
	return e, nil
}

// restUpgraded runs the new version without further steps.
func (e *operatorExploration) restUpgraded() error {
	out := e.play(trial{seed: e.seeds[0], steps: []generate.Step{upgrade}})
	own := slices.DeleteFunc(slices.Clone(out.problems), func(p problem) bool { return p.oracle == Upgrades })
	switch {
	case out.err != nil:
		return out.err
	case len(own) > 0:
		return fmt.Errorf("the new version: %w", restError(own))
	}
	return nil
}

// planUpgrades runs the upgrade of each seed, and of each seed with one change.
func (e *operatorExploration) planUpgrades() error {
	e.replayCorpus()
	for _, s := range e.seeds {
		upgrades := [][]generate.Step{
			{create, upgrade, restart, rewrite, restart, downgrade, restart},
			{create, upgrade, remove},
			{create, upgrade, downgrade, remove},
			{create, rush(upgrade)},
			{create, fail, upgrade, heal},
		}
		first := e.runAll(trials(s, upgrades[:1]))[0]
		if first.rejected != "" && first.rejected != notRun && len(first.checkpoints) == 0 {
			return fmt.Errorf("the seed %s cannot be created: %s: correct the sample in Subject.Seeds, or give one if there is none", s.name, first.rejected)
		}
		e.runAll(e.inShard(trials(s, upgrades[1:])))
		var changed [][]generate.Step
		for _, c := range generate.Changes(s.schema, s.object.Object) {
			changed = append(changed, slices.Concat(c.Steps, []generate.Step{create, upgrade, rewrite, downgrade}))
		}
		e.runAll(e.inShard(trials(s, changed)))
		e.usersOfUpgrades(s)
	}
	return nil
}

// usersOfUpgrades runs the trials in which a user acts during an upgrade: changes the custom resource while
// the old version works, or deletes or changes it at each write of the new version.
func (e *operatorExploration) usersOfUpgrades(s *seed) {
	steps := []generate.Step{create, upgrade}
	writes, _ := e.writesOf(trial{seed: s, steps: steps})
	var found []trial
	for _, write := range writes {
		found = append(found, trial{seed: s, steps: slices.Concat(steps, []generate.Step{rush(remove), create}), fault: schedule{write}})
	}
	paths := map[string]bool{}
	for _, c := range generate.Changes(s.schema, s.object.Object) {
		path := c.Steps[0].Path
		if len(paths) == changesInUpgrades || paths[path] {
			continue
		}
		paths[path] = true
		found = append(found, trial{seed: s, steps: slices.Concat(steps, c.Steps, []generate.Step{restart, remove})},
			trial{seed: s, steps: slices.Concat([]generate.Step{create}, c.Steps, []generate.Step{rush(upgrade)})})
		for _, write := range writes {
			found = append(found, trial{seed: s, steps: slices.Concat(steps, rushed(c.Steps)), fault: schedule{write}})
		}
	}
	e.runAll(e.inShard(found))
}

// changesInUpgrades is how many properties a user changes during an upgrade.
const changesInUpgrades = 4
