package explore

import (
	"fmt"
	"slices"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// add confirms the new problems of an outcome, and reports the first one that occurs again. It does not
// report differences that come with it, because they have the same cause.
func (e *operatorExploration) add(tr trial, out *outcome) {
	fresh := slices.DeleteFunc(e.freshWithoutNoise(tr, out), func(p problem) bool { return e.isSimilar(tr, p) })
	if len(fresh) == 0 || len(e.results.found.Findings) >= e.subject.MaxFindings {
		return
	}
	if fresh[0].final() {
		e.report(tr, out, fresh[0])
		return
	}
	tr, out, p := e.confirm(tr, fresh)
	if p != nil && !e.results.keys[p.id()] {
		tr, out, shortest := e.shorten(tr, out, *p)
		e.noteSimilar(tr, shortest)
		e.report(tr, out, shortest)
	}
}

// final reports whether a problem is reported without a confirming trial, which would leave more goroutines.
func (p problem) final() bool { return p.oracle == NoLeak || p.stuck }

// confirm plays a trial again, and returns the first of its problems that occurs again, with the trial that
// shows it best; nil: none does.
func (e *operatorExploration) confirm(tr trial, fresh []problem) (shown trial, out *outcome, p *problem) {
	if shown, out, p = e.playAgain(tr, fresh); p == nil {
		e.unconfirmed(tr, fresh[0])
		return tr, nil, nil
	}
	if p.oracle == Recovers && p.compared {
		shown, out, *p = e.calm(shown, out, *p)
	}
	return shown, out, p
}

// fresh returns the problems of an outcome that are not known yet.
func (e *operatorExploration) fresh(tr trial, out *outcome) []problem {
	return slices.DeleteFunc(e.problems(tr, out), func(p problem) bool { return e.results.keys[p.id()] })
}

// freshWithoutNoise is fresh without differences that two direct runs to the same state have, too.
func (e *operatorExploration) freshWithoutNoise(tr trial, out *outcome) []problem {
	fresh := e.fresh(tr, out)
	if !slices.ContainsFunc(fresh, func(p problem) bool { return p.compared }) {
		return fresh
	}
	e.learnNoise(tr, out)
	return e.fresh(tr, out)
}

// report reports a problem as a finding.
func (e *operatorExploration) report(tr trial, out *outcome, p problem) {
	e.results.know(p)
	e.results.over = e.results.over || p.oracle == NoLeak // each further trial leaves goroutines, too
	if p.compared {
		for _, other := range e.problems(tr, out) {
			if other.compared {
				e.results.know(other)
			}
		}
	}
	e.addFinding(e.finding(tr, out, p))
}

// addFinding adds a finding, and publishes it.
func (e *operatorExploration) addFinding(f Finding) {
	e.results.found.Findings = append(e.results.found.Findings, f)
	if e.publish != nil {
		e.publish(f)
	}
}

// unconfirmed records a problem that did not occur again.
func (e *operatorExploration) unconfirmed(tr trial, p problem) {
	if e.results.doubtful[p.id()] {
		return
	}
	e.results.doubtful[p.id()] = true
	e.results.found.Unconfirmed = append(e.results.found.Unconfirmed, fmt.Sprintf("%s: %s; the trial was '%s'", p.oracle, p.what, tr))
}

// playAgain plays a trial once more, with more time after each step, and returns the first of the problems that
// occurs; nil: none does.
func (e *operatorExploration) playAgain(tr trial, problems []problem) (shown trial, out *outcome, p *problem) {
	// A fault strikes at a certain request, which may come later in a patient trial.
	tr.patient = len(tr.fault) == 0 && problems[0].oracle != Converges
	out = e.play(tr)
	if out.rejected != "" || out.err != nil {
		return tr, out, nil
	}
	found := e.problems(tr, out)
	for _, p := range problems {
		if i := slices.IndexFunc(found, func(f problem) bool { return f.id() == p.id() }); i >= 0 {
			return tr, out, &found[i]
		}
	}
	return tr, out, nil
}

// replay plays the trial of a finding, and reports its first problem that can be confirmed, or that occurs
// with more time after each step. It returns the reason why the trial is not possible, or "".
func (e *operatorExploration) replay(tr trial) (rejected string) {
	out := e.play(tr)
	if !e.count(tr, out) {
		return out.rejected
	}
	fresh := e.freshWithoutNoise(tr, out)
	if len(fresh) > 0 && fresh[0].final() {
		e.report(tr, out, fresh[0])
		return ""
	}
	if len(fresh) > 0 {
		if shown, out, p := e.confirm(tr, fresh); p != nil {
			e.report(shown, out, *p)
			return ""
		}
	}
	if tr.patient = len(tr.fault) == 0; !tr.patient {
		return ""
	}
	out = e.play(tr)
	if fresh := e.freshWithoutNoise(tr, out); out.rejected == "" && len(fresh) > 0 {
		e.report(tr, out, fresh[0])
	}
	return ""
}

// calm returns the trial without its faults and disturbances, if it shows the same difference. Then the
// operator depends on the past, and the fault is not the cause.
func (e *operatorExploration) calm(tr trial, out *outcome, p problem) (trial, *outcome, problem) {
	without := tr
	without.fault, without.steps = nil, slices.DeleteFunc(slices.Clone(tr.steps), disturbs)
	if len(without.steps) == 0 {
		return tr, out, p
	}
	without.steps[0].Rush = false
	if slices.ContainsFunc(tr.fault, func(p point) bool { return p.effect == userBefore }) {
		// Without the fault it is chance whether the user or the operator writes first.
		for i := range without.steps {
			without.steps[i].Rush = false
		}
	}
	played := e.play(without)
	if played.rejected != "" || played.err != nil {
		return tr, out, p
	}
	for _, found := range e.problems(without, played) {
		if found.compared && found.key == p.key {
			return without, played, found
		}
	}
	return tr, out, p
}

// id identifies equal problems.
func (p problem) id() string { return string(p.oracle) + " " + p.key }

// learnNoise masks the differences between two direct runs to the same state. The second one begins at another
// time.
func (e *operatorExploration) learnNoise(tr trial, out *outcome) {
	for _, c := range out.checkpoints {
		if !c.quiet {
			continue
		}
		patient := tr
		patient.patient = true
		again := e.apart(patient, c)
		for i, a := range e.apart(tr, c) {
			if first, second := a.reference.state(), again[i].reference.state(); first != nil && second != nil {
				seed := a.reference.trial.seed
				e.results.mask.Add(state.Differences(meaningful(first, seed), meaningful(second, seed), nil))
				e.learnSchedule(tr.seed, a.reference.checkpoint(), again[i].reference.checkpoint())
			}
		}
	}
}

// shorten removes steps of a trial as long as it shows the same problem, which the outcome has.
func (e *operatorExploration) shorten(tr trial, out *outcome, p problem) (trial, *outcome, problem) {
	shows := func(cut trial) {
		played := e.play(cut)
		if played.rejected != "" || played.err != nil {
			return
		}
		for _, found := range e.problems(cut, played) {
			if found.id() == p.id() {
				tr, out, p = cut, played, found
				return
			}
		}
	}
	if p.step >= 0 && p.step+1 < len(tr.steps) {
		cut := tr
		cut.steps = slices.Clone(tr.steps[:p.step+1])
		shows(cut)
	}
	for i := len(tr.steps) - 1; i >= 0; i-- {
		if i >= len(tr.steps) || len(tr.steps) == 1 {
			continue
		}
		cut := tr
		cut.steps = slices.Delete(slices.Clone(tr.steps), i, i+1)
		cut.steps[0].Rush = false
		shows(cut)
	}
	if len(tr.fault) > 0 {
		cut := tr
		cut.fault = nil
		shows(cut)
	}
	return tr, out, p
}
