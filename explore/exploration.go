package explore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/printable"
)

// chunk is how many trials are started before their results are looked at.
const chunk = 16

// references are the states that are reached at once, by the steps that lead there.
type references struct {
	mu  sync.Mutex
	all map[string]*reference
}

type reference struct {
	once  sync.Once
	trial trial
	out   *outcome
	noted bool // it is among the trials of what was found
}

// state returns the state; nil: it was not reached, for example because the operator is stuck there, too.
func (r *reference) state() state.State {
	if r.out.rejected != "" || r.out.err != nil || len(r.out.checkpoints) == 0 {
		return nil
	}
	last := r.out.checkpoints[len(r.out.checkpoints)-1]
	if !last.quiet || last.stuck != "" {
		return nil
	}
	return last.state
}

// results are what an exploration has found until now.
type results struct {
	found    Found
	keys     map[string]bool // of findings, and of what was not a finding
	mask     state.Mask
	began    time.Time
	reported time.Time // when the progress was reported last
	over     bool

	mu     sync.Mutex
	access map[inspect.AccessRequest]bool // what the operator has requested in all trials
}

// needed notes requests of the operator.
func (r *results) needed(all []inspect.AccessRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range all {
		r.access[of] = true
	}
}

// explore runs all trials.
func (e *operatorExploration) explore() (Found, error) {
	e.references.all = map[string]*reference{}
	e.results.access = map[inspect.AccessRequest]bool{}
	e.results.keys, e.results.mask, e.results.began = map[string]bool{}, state.Mask{}, time.Now()
	e.results.reported, e.results.found.Left = e.results.began, e.left
	if err := e.rest(); err != nil {
		return e.results.found, err
	}
	if e.next != nil {
		if err := e.restUpgraded(); err != nil {
			return e.results.found, err
		}
	}
	for _, d := range Oracles() {
		if e.subject.checks(d.Oracle) && (e.next != nil || !d.Upgrade) {
			e.results.found.oracles = append(e.results.found.oracles, d.Oracle)
		}
	}
	if e.subject.RealTime > 0 {
		e.results.found.RealTime = e.subject.RealTime
		e.results.found.Unchecked = append(e.results.found.Unchecked, "goroutines that the operator leaves behind, because they have no bubble")
	}
	if e.user == "" {
		e.results.found.Unchecked = append(e.results.found.Unchecked, "permitted, because Subject.Roles is empty")
	}
	if e.subject.Replay != "" {
		tr, err := e.parseTrial(e.subject.Replay)
		if err != nil {
			return e.results.found, fmt.Errorf("the trial to replay: %w", err)
		}
		if out := e.runAll([]trial{tr})[0]; out.rejected != "" {
			return e.results.found, fmt.Errorf("the trial to replay is not possible any more: %s", out.rejected)
		}
		return e.results.found, nil
	}
	if e.next != nil {
		return e.results.found, e.planUpgrades()
	}
	if err := e.plan(); err != nil {
		return e.results.found, err
	}
	return e.results.found, e.checkRules()
}

// checkRules compares the roles with what the operator has needed in all trials.
func (e *operatorExploration) checkRules() error {
	if e.user == "" || !e.subject.checks(NeedsItsRules) {
		return nil
	}
	diff, err := fakecluster.Access{User: e.user, Requests: slices.Collect(maps.Keys(e.results.access))}.CompareRoles(e.subject.Roles...)
	if err != nil {
		return fmt.Errorf("Subject.Roles: %w", err)
	}
	if len(diff.Unused) > 0 {
		diff.Missing = nil
		what := fmt.Sprintf("the operator has not needed these rules in %s:", printable.Count(e.results.found.Trials, "trial"))
		e.results.found.Findings = append(e.results.found.Findings, Finding{Oracle: NeedsItsRules, What: what,
			Report: printable.Text(fmt.Sprintf("explore: the operator %s (oracle %s).\n%s\n%s", NeedsItsRules.claim(), NeedsItsRules, what, diff))})
	}
	return nil
}

// rest runs the operator when there is nothing to do. What is wrong then is wrong with the subject.
func (e *operatorExploration) rest() error {
	out := e.play(trial{seed: e.seeds[0]})
	switch {
	case out.err != nil:
		return out.err
	case len(out.problems) > 0:
		return restError(out.problems)
	case len(out.requests) == 0:
		return errors.New("the operator has not sent a request: Subject.Run has to make its clients with the config that it gets, and to run until ctx ends")
	}
	return nil
}

// restError is the error of an operator that does something wrong although there is nothing to do.
func restError(problems []problem) error {
	p := slices.MinFunc(problems, func(a, b problem) int { return cmp.Compare(restOrder(a), restOrder(b)) })
	text := p.what
	if p.detail != "" {
		text += "\n" + p.detail
	}
	switch p.oracle {
	case Converges:
		return errors.New(printable.Text("the operator is not quiet although there is nothing to do: " + text + "\nWrite only what has changed, or set Subject.Without: []explore.Oracle{explore.Converges} if this is on purpose"))
	case NoLeak:
		return errors.New(printable.Text(text + "\nEnd them with the context of Subject.Run"))
	}
	return errors.New(printable.Text("the operator does not start: " + text))
}

// restOrder is the order in which problems explain others: an operator that may not list what it watches does not come to rest.
func restOrder(p problem) int {
	order := []Oracle{NoPanic, Permitted, Converges, NoLeak}
	if i := slices.Index(order, p.oracle); i >= 0 {
		return i
	}
	return len(order)
}

// runAll runs trials, in parallel, and looks at the outcomes in their order. It stops when the exploration is over: the outcomes of
// trials that were not run are rejected.
func (e *operatorExploration) runAll(trials []trial) []*outcome {
	outcomes := make([]*outcome, len(trials))
	for begin, end := 0, 0; begin < len(trials); begin = end {
		end = min(begin+chunk, len(trials))
		if !e.over() {
			end = begin + min(end-begin, e.remaining())
			e.runChunk(trials[begin:end], outcomes[begin:end])
		}
		for i := begin; i < end; i++ {
			if outcomes[i] == nil {
				outcomes[i] = &outcome{rejected: notRun}
				continue
			}
			e.note(trials[i], outcomes[i])
		}
		e.progress()
	}
	return outcomes
}

// notRun is why a trial was rejected that did not begin.
const notRun = "the exploration is over"

func (e *operatorExploration) runChunk(trials []trial, outcomes []*outcome) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range max(1, min(e.parallel, len(trials))) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(trials) || e.late() {
					return
				}
				outcomes[i] = e.play(trials[i])
				for _, c := range outcomes[i].checkpoints {
					if c.desired != nil && c.quiet {
						e.reference(trials[i], c)
					}
				}
			}
		})
	}
	workers.Wait()
}

// reference returns what leads at once to the state that is wanted at a checkpoint of a trial.
func (e *operatorExploration) reference(of trial, c checkpoint) *reference {
	tr := trial{seed: of.seed, steps: c.desired, patient: of.patient}
	key := fmt.Sprint(tr.patient, tr)
	e.references.mu.Lock()
	r := e.references.all[key]
	if r == nil {
		r = &reference{trial: tr}
		e.references.all[key] = r
	}
	e.references.mu.Unlock()
	r.once.Do(func() { r.out = e.play(tr) })
	return r
}

// late reports whether the time of the exploration is over.
func (e *operatorExploration) late() bool {
	return *timeFlag > 0 && time.Since(e.results.began) >= *timeFlag
}

// remaining is how many trials may begin, by what is known of those before. It does not depend on which of those that run at the same time
// end first.
func (e *operatorExploration) remaining() int {
	if *timeFlag > 0 {
		return math.MaxInt
	}
	return max(0, e.subject.Trials-e.results.found.Trials-e.results.found.Rejected)
}

// over reports whether the exploration is over.
func (e *operatorExploration) over() bool {
	return e.results.over || len(e.results.found.Findings) >= e.subject.MaxFindings || e.late() || e.remaining() == 0
}

// progress writes how far a long exploration is, because go test shows the log of a test at its end.
func (e *operatorExploration) progress() {
	if *timeFlag < 2*progressPeriod || time.Since(e.results.reported) < progressPeriod {
		return
	}
	e.results.reported = time.Now()
	passed := time.Since(e.results.began)
	trials := e.results.found.Trials + e.results.found.Rejected
	fmt.Fprintf(os.Stderr, "explore: %s: %d trials, %.0f a second, %s, %v left\n", e.t.Name(), trials,
		float64(trials)/passed.Seconds(), printable.Count(len(e.results.found.Findings), "finding"), (*timeFlag - passed).Round(time.Second))
}

// note looks at an outcome, and adds what is new to the findings.
func (e *operatorExploration) note(tr trial, out *outcome) {
	if e.noted != nil {
		e.noted(tr)
	}
	if out.err != nil {
		e.t.Errorf("explore: %s: %v", tr, out.err)
		e.results.over = true
		return
	}
	if out.rejected != "" {
		e.results.found.Rejected++
		return
	}
	e.results.found.Trials++
	for _, c := range out.checkpoints {
		if c.desired == nil || !c.quiet {
			continue
		}
		if r := e.reference(tr, c); !r.noted {
			r.noted = true
			e.note(r.trial, r.out)
		}
	}
	e.add(tr, out)
}

// add confirms and reports the problems of an outcome that are new.
func (e *operatorExploration) add(tr trial, out *outcome) {
	for _, p := range e.problems(tr, out) {
		if len(e.results.found.Findings) >= e.subject.MaxFindings || e.results.keys[p.id()] {
			continue
		}
		if p.oracle == Recovers && p.compared {
			if tr, out, p = e.calm(tr, out, p); e.results.keys[p.id()] {
				continue
			}
		}
		e.results.keys[p.id()] = true
		if p.oracle == NoLeak {
			e.results.over = true // each further trial leaves goroutines, too
		} else {
			e.learnNoise(tr, out)
			shortest, shown, again := e.shorten(tr, p)
			if again == nil {
				delete(e.results.keys, p.id()) // noise, which another trial may not have
				continue
			}
			tr, out, p = shortest, shown, *again
		}
		e.results.found.Findings = append(e.results.found.Findings, e.finding(tr, out, p))
		return
	}
}

// calm returns the trial without what goes wrong in it, if it shows the same difference nevertheless: then the operator depends on the
// past, and it is not that it does not recover.
func (e *operatorExploration) calm(tr trial, out *outcome, p problem) (trial, *outcome, problem) {
	without := tr
	without.fault, without.steps = nil, slices.DeleteFunc(slices.Clone(tr.steps), disturbs)
	if len(without.steps) == 0 {
		return tr, out, p
	}
	without.steps[0].Rush = false
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

// problems returns the problems of an outcome, with those of the comparison with what is reached at once.
func (e *operatorExploration) problems(tr trial, out *outcome) []problem {
	all := slices.Clone(out.problems)
	slices.SortStableFunc(all, func(a, b problem) int { return cmp.Compare(restOrder(a), restOrder(b)) })
	for _, c := range out.checkpoints {
		if found := e.compare(tr, c); found != nil {
			all = append(all, *found)
			break
		}
	}
	return all
}

// compare compares the state at a checkpoint with the one that is reached at once.
func (e *operatorExploration) compare(tr trial, c checkpoint) *problem {
	if c.desired == nil || !c.quiet || slices.ContainsFunc(tr.steps, func(s generate.Step) bool { return s.Verb == generate.Neighbor }) {
		return nil
	}
	oracle := comparing(tr, c)
	if !e.subject.checks(oracle) {
		return nil
	}
	want := e.reference(tr, c).state()
	if want == nil {
		return nil
	}
	if c.stuck != "" {
		key, _, _ := strings.Cut(c.stuck, ":")
		return &problem{oracle: oracle, key: "stuck " + key, step: c.step, what: "the operator is stuck, because the server refuses a request again and again", detail: c.stuck}
	}
	all := state.Differences(want, c.state, e.results.mask)
	if len(all) == 0 {
		return nil
	}
	d := all[0]
	resource, _, _ := strings.Cut(d.Object, " ")
	key := resource + d.Path
	if d.Path == "" {
		key += fmt.Sprint(" missing ", d.Missing)
	}
	return &problem{oracle: oracle, key: key, step: c.step, compared: true, what: describe(d, len(all)-1), detail: state.Diff(want[d.Object], c.state[d.Object])}
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

// disturbs reports whether a step is something that goes wrong, and that the operator has to make good.
func disturbs(s generate.Step) bool {
	switch s.Verb {
	case generate.Restart, generate.Fail, generate.Heal, generate.DeleteOwned, generate.EditOwned, generate.Withdraw, generate.Provide:
		return true
	}
	return false
}

// learnNoise masks what differs between two runs of what leads to a state at once.
func (e *operatorExploration) learnNoise(tr trial, out *outcome) {
	for _, c := range out.checkpoints {
		if c.desired == nil || !c.quiet {
			continue
		}
		patient := tr
		patient.patient = true
		first, second := e.reference(tr, c).state(), e.reference(patient, c).state()
		if first != nil && second != nil {
			e.results.mask.Add(state.Differences(first, second, nil))
		}
	}
}

// shorten removes steps of a trial as long as it shows the same problem. It returns no problem if the trial itself does not show it again.
func (e *operatorExploration) shorten(tr trial, p problem) (shortest trial, shown *outcome, again *problem) {
	shows := func(tr trial) bool {
		out := e.play(tr)
		if out.rejected != "" || out.err != nil {
			return false
		}
		for _, found := range e.problems(tr, out) {
			if found.id() == p.id() {
				shortest, shown, again = tr, out, &found
				return true
			}
		}
		return false
	}
	// A fault strikes at a certain request, which may come later in a patient trial.
	tr.patient = len(tr.fault) == 0 && p.oracle != Converges
	if !shows(tr) {
		return tr, nil, nil
	}
	if p.step >= 0 && p.step+1 < len(shortest.steps) && again.step >= 0 {
		cut := shortest
		cut.steps = slices.Clone(shortest.steps[:again.step+1])
		shows(cut)
	}
	for i := len(shortest.steps) - 1; i >= 0; i-- {
		if i >= len(shortest.steps) || len(shortest.steps) == 1 {
			continue
		}
		cut := shortest
		cut.steps = slices.Delete(slices.Clone(shortest.steps), i, i+1)
		if len(cut.steps) > 0 {
			cut.steps[0].Rush = false
		}
		shows(cut)
	}
	if len(shortest.fault) > 0 {
		cut := shortest
		cut.fault = nil
		shows(cut)
	}
	return shortest, shown, again
}
