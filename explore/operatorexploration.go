package explore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/collector"
	"github.com/fakecluster/fakecluster/internal/printable"
)

// chunk is how many trials run before their results are checked.
const chunk = 16

// operatorExploration explores an operator.
type operatorExploration struct {
	t test
	*installation
	next  *installation // the version of an upgrade; nil: there is none
	seeds []*seed
	// longSeeds are the seeds with long names, which only a few trials use.
	longSeeds []*seed

	// publish is called for each finding when it is found. If it is not nil, the trials of former findings
	// are played first.
	publish  func(Finding)
	parallel int            // how many trials run at the same time
	noted    func(tr trial) // called for each trial in order; nil: nothing is called
	limits   limits
	stuck    atomic.Int64 // the number of trials that are stuck
	atRest   bool         // the first trial is running, which has no steps

	references references
	results    results
}

// newExploration makes the exploration of an operator, or of the upgrade from one version to another.
func newExploration(t test, versions ...Subject) (*operatorExploration, error) {
	if len(versions) > 1 {
		return newUpgradeExploration(t, versions[0], versions[1])
	}
	return newOperatorExploration(t, versions[0])
}

func newOperatorExploration(t test, s Subject) (*operatorExploration, error) {
	s.takeFlags(t.flags)
	if err := s.check(t.flags); err != nil {
		return nil, err
	}
	i, err := newInstallation(s)
	if err != nil {
		return nil, err
	}
	e := &operatorExploration{t: t, installation: i, parallel: t.parallel, limits: usualLimits,
		references: references{references: map[string]*reference{}}, results: newResults()}
	if err := e.findSeeds(); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *operatorExploration) close() {
	_ = e.base.Close()
	if e.next != nil {
		_ = e.next.base.Close()
	}
}

// references has the trials that reach a state directly, by their steps.
type references struct {
	mu         sync.Mutex
	references map[string]*reference
}

type reference struct {
	once  sync.Once
	trial trial
	out   *outcome
	noted bool // it counts among the trials of the result
}

// state returns the state that the trial reaches; nil: it does not reach one, for example because the
// operator is stuck.
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

// checkpoint returns the checkpoint of the state.
func (r *reference) checkpoint() checkpoint { return r.out.checkpoints[len(r.out.checkpoints)-1] }

// failed reports whether the status of the custom resource reports a problem at the end.
func (r *reference) failed() bool {
	n := len(r.out.checkpoints)
	return n > 0 && r.out.checkpoints[n-1].failed
}

// results has the results of an exploration until now.
type results struct {
	found    Found
	keys     map[string]bool // keys of findings, and of the differences that come with them
	similar  map[string]int  // by similarity: the number of findings that probably have the same cause
	doubtful map[string]bool // keys of problems that did not occur again
	mask     state.Mask
	// scheduled are the resources of custom resources for which controllers of the cluster make objects that depend
	// on the time, as that of CronJobs does.
	scheduled map[schema.GroupVersionResource]bool
	summaries map[*seed]*seedSummary
	began     time.Time
	reported  time.Time // when the progress was reported last
	over      bool

	mu     sync.Mutex
	access map[inspect.AccessRequest]bool // the requests of the operator in all trials
}

func newResults() results {
	return results{
		keys: map[string]bool{}, similar: map[string]int{}, doubtful: map[string]bool{}, mask: state.Mask{}, scheduled: map[schema.GroupVersionResource]bool{},
		summaries: map[*seed]*seedSummary{}, access: map[inspect.AccessRequest]bool{},
	}
}

// know records that a problem is among the findings, or comes with one.
func (r *results) know(p problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[p.id()] = true
}

// knows reports whether a problem is among the findings. Trials must call it instead of reading keys, because
// a stuck trial may run concurrently with the exploration.
func (r *results) knows(p problem) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[p.id()]
}

// needed records requests of the operator.
func (r *results) needed(requests []inspect.AccessRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range requests {
		r.access[request] = true
	}
}

// explore runs all trials.
func (e *operatorExploration) explore() (Found, error) {
	e.results.began, e.results.found.Left = time.Now(), e.left
	e.results.reported = e.results.began
	defer collector.RunLess()()
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
	e.results.found.Shard = e.t.shard.String()
	if e.t.shard.count > 1 && e.subject.checks(NeedsItsRules) && e.user != "" {
		e.results.found.Unchecked = append(e.results.found.Unchecked, fmt.Sprintf("%s, because the trials of other shards need other rules", NeedsItsRules))
	}
	if e.user == "" {
		e.results.found.Unchecked = append(e.results.found.Unchecked, "permitted, because Subject.Roles is empty")
	}
	if e.subject.Replay != "" {
		tr, err := e.parseTrial(e.subject.Replay)
		if err != nil {
			return e.results.found, fmt.Errorf("the trial to replay: %w", err)
		}
		if rejected := e.replay(tr); rejected != "" {
			return e.results.found, fmt.Errorf("the trial cannot be replayed: %s", rejected)
		}
		if e.next == nil {
			e.checkSummaries()
		}
		return e.results.found, nil
	}
	if e.next != nil {
		err := e.planUpgrades()
		e.noteStuck()
		return e.results.found, err
	}
	if err := e.plan(); err != nil {
		return e.results.found, err
	}
	e.noteStuck()
	e.checkSummaries()
	return e.results.found, e.checkRules()
}

// noteStuck records that the exploration ended because of stuck trials.
func (e *operatorExploration) noteStuck() {
	if n := e.stuck.Load(); n >= mostStuck {
		e.results.found.Unchecked = append(e.results.found.Unchecked, fmt.Sprintf("all that further trials would have shown, because %d trials are stuck", n))
	}
}

// checkRules compares the roles with what the operator has needed in all trials.
func (e *operatorExploration) checkRules() error {
	if e.user == "" || e.t.shard.count > 1 || !e.subject.checks(NeedsItsRules) {
		return nil
	}
	diff, err := fakecluster.Access{User: e.user, Requests: slices.Collect(maps.Keys(e.results.access))}.CompareRoles(e.subject.Roles...)
	if err != nil {
		return fmt.Errorf("Subject.Roles: %w", err)
	}
	if len(diff.Unused) > 0 {
		diff.Missing = nil
		what := fmt.Sprintf("the operator has not needed these rules in %s:", printable.Count(e.results.found.Trials, "trial"))
		e.addFinding(Finding{Oracle: NeedsItsRules, What: what,
			Report: printable.Text(fmt.Sprintf("explore: the operator %s (oracle %s).\n%s\n%s", NeedsItsRules.claim(), NeedsItsRules, what, diff))})
	}
	return nil
}

// rest runs the operator without any steps. A problem then is an error of the subject.
func (e *operatorExploration) rest() error {
	e.atRest = true
	out := e.play(trial{seed: e.seeds[0]})
	e.atRest = false
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

// restError returns the error for an operator with problems although there is nothing to do.
func restError(problems []problem) error {
	p := slices.MinFunc(problems, func(a, b problem) int { return cmp.Compare(restOrder(a), restOrder(b)) })
	text := p.what
	if p.detail != "" {
		text += "\n" + p.detail
	}
	switch {
	case p.stuck:
		return errors.New(printable.Text(text))
	case p.oracle == Converges:
		return errors.New(printable.Text("the operator is not quiet although there is nothing to do: " + text + "\nWrite only what has changed, or set Subject.Without: []explore.Oracle{explore.Converges} if this is on purpose"))
	case p.oracle == NoLeak:
		return errors.New(printable.Text(text + "\nEnd them with the context of Subject.Run"))
	}
	return errors.New(printable.Text("the operator does not start: " + text))
}

// restOrder sorts causes before their consequences: an operator that may not list what it watches never
// becomes quiet.
func restOrder(p problem) int {
	order := []Oracle{NoPanic, Permitted, Converges, NoLeak}
	if i := slices.Index(order, p.oracle); i >= 0 {
		return i
	}
	return len(order)
}

// runAll runs trials in parallel, and checks the outcomes in their order. It stops when the exploration is
// over: the outcomes of trials that were not run are rejected.
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
				if i >= len(trials) || e.late() || e.stuck.Load() >= mostStuck {
					return
				}
				outcomes[i] = e.play(trials[i])
				e.playReferences(trials[i], outcomes[i])
			}
		})
	}
	workers.Wait()
}

// playReferences runs the trials with which an outcome will be compared.
func (e *operatorExploration) playReferences(tr trial, out *outcome) {
	defer func() {
		if p := recover(); p != nil { // in a host it would end the explorations of others
			out.err = panicked(p)
		}
	}()
	for _, c := range out.checkpoints {
		if c.quiet {
			e.apart(tr, c)
		}
	}
}

// reference returns the trial that leads directly to the state that is wanted at a checkpoint of a trial.
func (e *operatorExploration) reference(compared trial, c checkpoint) *reference {
	tr := trial{seed: compared.seed, steps: c.desired, patient: compared.patient}
	key := fmt.Sprint(tr.patient, tr)
	e.references.mu.Lock()
	r := e.references.references[key]
	if r == nil {
		r = &reference{trial: tr}
		e.references.references[key] = r
	}
	e.references.mu.Unlock()
	r.once.Do(func() { r.out = e.play(tr) })
	return r
}

// late reports whether the time of the exploration is over, or its test has ended.
func (e *operatorExploration) late() bool {
	return e.t.time > 0 && time.Since(e.results.began) >= e.t.time || e.t.Context().Err() != nil
}

// remaining returns how many trials may still begin, given the results so far. There is no limit if -explore.time is set. The order in
// which concurrent trials end does not change the result.
func (e *operatorExploration) remaining() int {
	if e.t.time > 0 {
		return math.MaxInt
	}
	return max(0, e.subject.Trials-e.results.found.Trials-e.results.found.Rejected)
}

// over reports whether the exploration is over.
func (e *operatorExploration) over() bool {
	return e.results.over || e.stuck.Load() >= mostStuck || len(e.results.found.Findings) >= e.subject.MaxFindings || e.late() || e.remaining() == 0
}

// progress prints the progress of a long exploration to stderr, because go test shows the log of a test only
// at its end.
func (e *operatorExploration) progress() {
	if e.t.time < 2*progressPeriod || time.Since(e.results.reported) < progressPeriod {
		return
	}
	e.results.reported = time.Now()
	passed := time.Since(e.results.began)
	trials := e.results.found.Trials + e.results.found.Rejected
	fmt.Fprintf(e.t.stderr, "explore: %s: %d trials, %.0f a second, %s, %v left\n", e.t.Name(), trials,
		float64(trials)/passed.Seconds(), printable.Count(len(e.results.found.Findings), "finding"), (e.t.time - passed).Round(time.Second))
}

// note checks an outcome, and adds new problems to the findings.
func (e *operatorExploration) note(tr trial, out *outcome) {
	if e.noted != nil {
		e.noted(tr)
	}
	if e.count(tr, out) {
		e.add(tr, out)
	}
}

// count counts a trial, and checks the trials that lead directly to its states. It reports whether the trial
// could be run.
func (e *operatorExploration) count(tr trial, out *outcome) bool {
	if out.err != nil {
		e.t.Errorf("explore: %s: %v", tr, out.err)
		e.results.over = true
		return false
	}
	if out.rejected != "" {
		e.results.found.Rejected++
		return false
	}
	e.results.found.Trials++
	e.results.summaryOf(tr.seed).addTrial(tr, out)
	for _, c := range out.checkpoints {
		if !c.quiet {
			continue
		}
		for _, a := range e.apart(tr, c) {
			if r := a.reference; !r.noted {
				r.noted = true
				e.note(r.trial, r.out)
			}
		}
	}
	e.noteField(tr, out)
	e.noteReplicas(tr, out)
	e.noteNumbers(tr, out)
	e.notePause(tr, out)
	return true
}
