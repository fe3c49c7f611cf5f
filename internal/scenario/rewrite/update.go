package rewrite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Update plays scenarios as [player.Player.PlayAll] does, and rewrites the expectations of those that fail to the
// answers of the cluster. In their files comments, order and layout stay, and only values that differ change. A value
// that is new in each run, such as a uid, becomes !present. Update plays these scenarios again until they pass or cannot
// be rewritten further; their failures say why. An expectation that several cases share is rewritten if all of them have
// the same answer.
//
// reader is the Reader that has read the scenarios. Update returns the steps that it has rewritten as FILE: SCENARIO:
// STEP.
func Update(ctx context.Context, reader syntax.Reader, with player.Player, scenarios []*syntax.Scenario, report func(player.Result)) ([]string, error) {
	return Rewrite(ctx, reader, with, scenarios, false, report)
}

// Rewrite is Update. If loosely is true, all values that differ become !present.
func Rewrite(ctx context.Context, reader syntax.Reader, with player.Player, scenarios []*syntax.Scenario, loosely bool, report func(player.Result)) ([]string, error) {
	u := &updater{reader: reader, with: with, ctx: ctx, usePresent: loosely, files: map[string]*fileState{}, results: map[scenarioKey]player.Result{}, tries: map[stepKey]int{}, rewritten: map[scenarioKey][]string{}}
	pending, err := u.read(scenarios)
	if err != nil {
		return nil, err
	}
	for len(pending) > 0 && ctx.Err() == nil {
		pending = u.round(pending)
	}
	for _, s := range scenarios {
		if result, played := u.results[keyOf(s)]; played {
			report(result)
		}
	}
	left, err := u.write()
	var said []string
	for _, s := range scenarios {
		if left[s.File] {
			continue
		}
		key := keyOf(s)
		key.row = ""
		for _, step := range u.rewritten[key] {
			said = append(said, fmt.Sprintf("%s: %s: %s", s.File, s.Name, step))
		}
		delete(u.rewritten, key)
	}
	return said, err
}

// scenarioKey identifies a scenario while its file changes.
type scenarioKey struct{ file, name, row string }

func keyOf(s *syntax.Scenario) scenarioKey { return scenarioKey{s.File, s.Name, s.Case} }

// stepKey identifies a step.
type stepKey struct{ file, scenario, step string }

// fileState is a file that is being rewritten.
type fileState struct {
	before, text []byte
	scenarios    map[scenarioKey]*syntax.Scenario
}

// parse reads the new text of the file.
func (f *fileState) parse(reader syntax.Reader, path string, text []byte) error {
	parsed := reader.Parse(path, text)
	if err := parsed.Err(); err != nil {
		return err
	}
	f.text, f.scenarios = text, map[scenarioKey]*syntax.Scenario{}
	for _, s := range parsed.Scenarios {
		f.scenarios[keyOf(s)] = s
	}
	return nil
}

// updater is one run of Update.
type updater struct {
	reader     syntax.Reader
	with       player.Player
	ctx        context.Context
	usePresent bool
	files      map[string]*fileState
	results    map[scenarioKey]player.Result
	// tries counts how often each step has been rewritten.
	tries     map[stepKey]int
	rewritten map[scenarioKey][]string
}

// read reads the files of the scenarios, and returns the scenarios in their current text.
func (u *updater) read(scenarios []*syntax.Scenario) ([]*syntax.Scenario, error) {
	var loaded []*syntax.Scenario
	for _, s := range scenarios {
		f := u.files[s.File]
		if f == nil {
			text, err := manifests.ReadFile(s.File)
			if err != nil {
				return nil, err
			}
			f = &fileState{before: text}
			if err := f.parse(u.reader, s.File, text); err != nil {
				return nil, err
			}
			u.files[s.File] = f
		}
		if now := f.scenarios[keyOf(s)]; now != nil {
			loaded = append(loaded, now)
		}
	}
	return loaded, nil
}

// maxTries limits how often a step is rewritten: first to the answer, later with !present in place of values that differ
// again.
const maxTries = 4

// round plays scenarios and rewrites the first failed step of each. It returns the scenarios to play again.
func (u *updater) round(scenarios []*syntax.Scenario) []*syntax.Scenario {
	failed := map[scenarioKey][]player.Result{} // by scenario, of all cases
	playedOf := map[scenarioKey]int{}
	u.with.PlayAll(u.ctx, scenarios, func(r player.Result) {
		key := keyOf(r.Scenario)
		u.results[key] = r
		key.row = ""
		playedOf[key]++
		if r.Failure != nil && r.Failure.Mismatch != nil {
			failed[key] = append(failed[key], r)
		}
	})
	changes := map[string][]change{}
	again := map[scenarioKey]bool{}
	for _, s := range scenarios {
		key := keyOf(s)
		key.row = ""
		if results := failed[key]; results != nil && !again[key] {
			delete(failed, key)
			made := u.rewrite(results, playedOf[key])
			changes[s.File] = append(changes[s.File], made...)
			again[key] = len(made) > 0
		}
	}
	for path, made := range changes {
		f := u.files[path]
		if err := f.parse(u.reader, path, newSource(f.text).with(made)); err != nil {
			u.giveUp(path, again, fmt.Sprintf("the rewritten file would be invalid: %v", err))
		}
	}
	var next []*syntax.Scenario
	for _, s := range scenarios {
		key := keyOf(s)
		key.row = ""
		if now := u.files[s.File].scenarios[keyOf(s)]; again[key] && now != nil {
			next = append(next, now)
		}
	}
	return next
}

// giveUp stops rewriting the scenarios of a file.
func (u *updater) giveUp(path string, again map[scenarioKey]bool, why string) {
	for key, result := range u.results {
		whole := key
		whole.row = ""
		if key.file == path && again[whole] && result.Failure != nil {
			refuseRewrite(result.Failure, why)
		}
	}
	for key := range again {
		if key.file == path {
			delete(again, key)
		}
	}
}

// rewrite rewrites the first failed step of a scenario. results are those of the failed cases; played is the number of
// cases that were played.
func (u *updater) rewrite(results []player.Result, played int) []change {
	first := slices.MinFunc(results, func(a, b player.Result) int {
		return comparePositions(a.Failure.Mismatch.Step, b.Failure.Mismatch.Step)
	})
	step := first.Failure.Mismatch.Step
	tried := stepKey{first.Scenario.File, first.Scenario.Name, first.Failure.Step}
	results = slices.DeleteFunc(slices.Clone(results), func(r player.Result) bool { return r.Failure.Mismatch.Step.Pos != step.Pos })
	refuse := func(why string) []change {
		for _, r := range results {
			refuseRewrite(r.Failure, why)
		}
		return nil
	}
	switch {
	case step.Scope != nil || step.Node == nil || step.Pos.File != first.Scenario.File:
		return refuse("the expectation is in another file")
	case u.tries[tried] == maxTries:
		return refuse("the answer is different in each run")
	}
	var changes []change
	var shared [][]change
	for _, r := range results {
		j := r.Failure.Mismatch
		rewriting := &Rewriter{source: newSource(u.files[r.Scenario.File].text), scenario: r.Scenario, step: j.Step, answers: j.Answers, usePresent: u.usePresent || u.tries[tried] > 1}
		rewriting.rewrite(j.Got)
		if len(rewriting.rejections) > 0 {
			refuseRewrite(r.Failure, strings.Join(rewriting.rejections, "; "))
			return rejectOthers(results, r)
		}
		var others []change
		for i, c := range rewriting.changes {
			if changes = append(changes, c); !rewriting.inCase[i] {
				others = append(others, c)
			}
		}
		shared = append(shared, others)
	}
	if t := first.Scenario.Cases; t != nil && slices.ContainsFunc(shared, func(s []change) bool { return len(s) > 0 }) {
		same := !slices.ContainsFunc(shared, func(s []change) bool { return !slices.Equal(s, shared[0]) })
		if !same || len(results) < played || played < t.Count {
			return refuse("cases with different answers share the expectation; use a parameter (!from case.NAME) for the answer of each")
		}
	}
	if len(changes) == 0 {
		return refuse("the step does not contain the value that differs")
	}
	u.tries[tried]++
	if u.tries[tried] == 1 {
		key := scenarioKey{first.Scenario.File, first.Scenario.Name, ""}
		u.rewritten[key] = append(u.rewritten[key], first.Failure.Step)
	}
	return changes
}

// refuseRewrite records why an expectation is not rewritten.
func refuseRewrite(f *player.Failure, why string) {
	f.Meanwhile = strings.TrimPrefix(f.Meanwhile+"\nthe expectation cannot be rewritten: "+why, "\n")
}

// rejectOthers records for the other cases why they are not rewritten.
func rejectOthers(results []player.Result, but player.Result) []change {
	for _, r := range results {
		if r.Scenario != but.Scenario {
			refuseRewrite(r.Failure, "the one of the case "+but.Scenario.Case+" cannot be rewritten")
		}
	}
	return nil
}

// comparePositions compares two steps by their position in the file.
func comparePositions(a, b syntax.Step) int {
	return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
}

// write writes the files that have changed, and returns those that it could not write.
func (u *updater) write() (left map[string]bool, err error) {
	left = map[string]bool{}
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(u.files)) {
		f := u.files[path]
		if bytes.Equal(f.before, f.text) {
			continue
		}
		now, err := manifests.ReadFile(path)
		switch {
		case err != nil || !bytes.Equal(now, f.before):
			err = fmt.Errorf("%s has changed since it was read, so it is not written", path)
		default:
			err = os.WriteFile(path, f.text, 0o644)
		}
		if err != nil {
			left[path], errs = true, append(errs, err)
		}
	}
	return left, errors.Join(errs...)
}
