package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/place"
)

const (
	// quietFor is how long the operator must not write before a step counts as done. patience is the same for
	// trials that confirm a problem, because an operator may reconcile again later.
	quietFor = 75 * time.Second
	patience = 11 * time.Minute
	// startFor is how long an operator gets to start.
	startFor = 10 * time.Second
	// quietRounds is how often this time may pass with writes before the operator counts as never quiet.
	// knownRounds is the same if that is a finding already, because such trials take the longest.
	quietRounds, knownRounds = 12, 2
	// allRounds is how often it may pass in total, if the operator is quiet now and then, and continues
	// because its objects have become ready.
	allRounds = 4 * quietRounds
	// operatorName is the name of the operator's client.
	operatorName = "operator"
)

// trial is a sequence of steps and faults for one seed, in a cluster of its own.
type trial struct {
	seed  *seed
	steps []generate.Step
	fault schedule
	// patient is true for trials that confirm a problem: they begin at another time, and wait longer after
	// each step.
	patient bool
}

// quiet returns how long the operator must not write before a step counts as done.
func (p *player) quiet() time.Duration {
	switch {
	case p.subject.RealTime > 0 && p.patient:
		return patienceInRealTime * p.subject.RealTime
	case p.subject.RealTime > 0:
		return p.subject.RealTime
	case p.patient:
		return patience
	}
	return quietFor
}

// lateBegin is how much later a patient trial begins.
const lateBegin = 37 * time.Hour

// String returns the trial in the format of Subject.Replay.
func (t trial) String() string {
	text := t.seed.name + ": " + generate.Text(t.steps)
	if len(t.fault) > 0 {
		parts := make([]string, len(t.fault))
		for i, p := range t.fault {
			parts[i] = p.String()
		}
		text += " | " + strings.Join(parts, "; ")
	}
	return text
}

// parseTrial reads a trial of one of the seeds.
func (e *operatorExploration) parseTrial(text string) (trial, error) {
	for _, s := range slices.Concat(e.seeds, e.longSeeds, e.besides()) {
		rest, ok := strings.CutPrefix(text, s.name+":")
		if !ok {
			continue
		}
		tr := trial{seed: s}
		text, faults, _ := strings.Cut(rest, " | ")
		var err error
		if tr.steps, err = generate.Parse(text); err != nil {
			return tr, err
		}
		for _, step := range tr.steps {
			if step.Verb == generate.Neighbor && s.neighbor == nil || step.Verb == generate.Namesake && s.namesake == nil {
				return tr, fmt.Errorf("%s has no %s: begin the trial with the name of a seed in a namespace", s.name, step.Verb)
			}
		}
		for part := range strings.SplitSeq(faults, ";") {
			fields := strings.Fields(part)
			if len(fields) == 0 {
				continue
			}
			p, err := parsePoint(fields, append(slices.Clone(effects), userBefore, deposed))
			if err != nil {
				return tr, fmt.Errorf("the part %q: %w", strings.TrimSpace(part), err)
			}
			tr.fault = append(tr.fault, p)
		}
		return tr, nil
	}
	var names []string
	for _, s := range e.seeds {
		names = append(names, s.name)
	}
	return trial{}, fmt.Errorf("the trial %q does not begin with the name of a seed; the seeds are %s", text, strings.Join(names, ", "))
}

// checkpoint is the state of the cluster when the operator has worked on a step.
type checkpoint struct {
	step    int             // index of the step
	state   state.State     // of all objects that the trial has made or changed
	request int             // how many requests the operator had sent before the step
	desired []generate.Step // the steps that lead directly to this state; nil: there is no custom resource
	// beside is another custom resource; nil: none. neighbor has the steps that lead directly to its state.
	beside   *seed
	neighbor []generate.Step
	occupied string         // an object of somebody else under a name of the operator; empty: none
	reported bool           // the status of the custom resource or an Event reports the occupied name
	failed   bool           // the status of the custom resource reports a problem
	object   map[string]any // the custom resource that the user wants; nil: none
	written  bool           // the operator has written the custom resource, not only its status
	quiet    bool           // the operator is quiet
	stuck    string         // a request that the server rejects again and again; empty: none
	owned    []state.Object // the objects owned by the custom resource, directly or not
	// living has the objects of a cluster with workloads, without those from before the steps that only the cluster
	// has written; nil: no workloads run.
	living   []state.Object
	managers map[string]bool // field managers of the operator
	// hindered is true if controllers of the cluster cannot do what they should, or a step has deleted what they have made.
	hindered bool
}

// problem is a violation that an oracle has found in a trial.
type problem struct {
	oracle Oracle
	key    string // equal for equal problems
	what   string // in one sentence
	detail string // lines below it
	step   int    // index of the step after which it was found; -1: none
	// compared is true for a difference from the state that is reached directly, by the steps expected.
	compared bool
	expected []generate.Step
	// stuck is set if the trial has not ended.
	stuck bool
}

// outcome has the results of a trial.
type outcome struct {
	rejected    string // the reason why the trial is not possible; empty: it is possible
	err         error  // the reason why it could not be run
	problems    []problem
	checkpoints []checkpoint
	requests    []inspect.Request // of the operator
	callers     map[string]string // lines of code, by audit ID
	there       place.Trial       // in the process of the operator; nil: that is this one
	run         *run
	last        *run // the run of the last version of the operator; nil: the trial has not ended

	// children are the objects that the operator has created, by name, in a trial that only creates the seed;
	// nil: it is another trial.
	children map[string]child

	generation bool     // status.observedGeneration was set
	without    *problem // the problem that it was not set; nil: it was, or the operator has not written the status

	began time.Time   // when the operator was started
	times []time.Time // when each step was taken
}

// player plays a trial, in its bubble.
type player struct {
	*operatorExploration
	*installation // the version of the operator that runs
	trial
	out     *outcome
	run     *run
	client  dynamic.Interface
	present map[string]string // by name: resourceVersions of objects that the trial has not created
	// resource is the resource of the seed, in the version of the seed if that is served.
	resource schema.GroupVersionResource
	changed  map[string]schema.GroupVersionResource // resources with objects that the trial has made or changed, by name

	edits     []generate.Step                       // of the seed, before and after it was created
	exists    bool                                  // the custom resource
	failing   bool                                  // the workloads
	withdrawn map[string]bool                       // needs
	children  map[string]child                      // what the operator makes, if the trial needs to know
	occupied  map[string]*unstructured.Unstructured // objects of somebody else, as they were made
	marked    map[string]types.UID                  // objects of the operator with a label and an annotation of somebody else
	needEdits []generate.Step                       // of needs
	beside    *seed                                 // another custom resource; nil: there is none
	neighbors map[string]state.Object               // what belongs to it
	atRest    map[string]bool                       // names of objects when the operator had started
	// deletedClaims are claims of the operator that a step has deleted.
	deletedClaims   map[types.UID]bool
	makers          map[types.UID]maker // those that are known
	fieldManagers   map[string]bool     // field managers
	tookFromCluster bool                // a step has deleted what a controller of the cluster has made
	step            int
	sent            int // requests of the operator before the step

	replaced uint64         // how often the version of the operator was replaced
	ended    bool           // the run of the present version
	pods     pods           // before the version was replaced; nil: they are compared
	wanted   map[string]any // the spec of the custom resource before that; nil: it has changed since
}

// playToEnd runs a trial to its end, in a bubble of its own or in real time.
func (e *operatorExploration) playToEnd(tr trial, out *outcome) {
	for _, p := range tr.fault {
		if p.effect != userBefore {
			out.run.points[occurrence{p.request, p.nth}] = p
		}
	}
	var children map[string]child
	if tr.occupies() {
		children = e.childrenOf(tr.seed)
	}
	play := e.inBubble
	switch {
	case e.subject.RealTime > 0:
		play = e.inRealTime
	case out.there != nil:
		play = e.elsewhere
	}
	play(out, func(t testing.TB) {
		r := out.run
		r.t = &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if p := recover(); p != nil {
					out.err = panicked(p)
				}
			}()
			r.cluster = e.base.Fork(r.t)
			p := &player{operatorExploration: e, installation: e.installation, trial: tr, out: out, run: r, client: r.cluster.Dynamic(),
				present: e.present, resource: tr.seed.resource, changed: map[string]schema.GroupVersionResource{}, withdrawn: map[string]bool{},
				children: children, occupied: map[string]*unstructured.Unstructured{}, marked: map[string]types.UID{}, deletedClaims: map[types.UID]bool{}, makers: map[types.UID]maker{}, fieldManagers: map[string]bool{}}
			defer p.finish()
			p.play()
		}()
		<-done
		if r.cluster == nil {
			out.err = errors.New(r.t.text())
		}
	})
}

// expect says that something is due in the trial after some time, if the operator is in another process.
func (p *player) expect(d time.Duration) { p.out.there.Expect(d, p.idle()) }

// idle reports whether nothing happens in the cluster by itself. What comes late because of a fault may come later, because settle waits twice as long for it.
func (p *player) idle() bool { return p.subject.Workloads == nil }

// newRun returns a run without faults. The caller sets its cluster and test.
func (e *operatorExploration) newRun() *run {
	r := &run{stacks: true, still: make(chan bubble.Blocked, 1), endless: make(chan problem, 1), counts: map[request]int{}, reached: map[occurrence]bool{}, points: map[occurrence]point{}}
	if r.realTime = e.subject.RealTime > 0; !r.realTime {
		r.pace = &pace{}
	}
	return r
}

// play starts the operator and takes the steps.
func (p *player) play() {
	if !p.createNeeds(false) {
		return
	}
	if p.patient && p.subject.RealTime == 0 {
		p.pass(lateBegin)
	}
	p.out.began = time.Now()
	p.expectUser()
	defer func() { p.run.user.end() }()
	p.startOperator()
	if !p.settle(-1) || !p.createNeeds(true) {
		return
	}
	p.atRest = map[string]bool{}
	for _, o := range p.objects() {
		p.atRest[o.Name()] = true
	}
	for i, s := range p.steps {
		p.step = i
		p.sent = p.sentRequests()
		before := p.operatorRevisions()
		p.out.times = append(p.out.times, time.Now())
		if why := p.take(s); why != "" {
			if len(p.out.problems) == 0 { // otherwise they may be the reason
				p.out.rejected = fmt.Sprintf("%s: %s", s, why)
			}
			return
		}
		if i+1 < len(p.steps) && p.steps[i+1].Rush {
			p.awaitWrite(i)
			continue
		}
		p.resume()
		quiet := p.settle(i)
		if quiet && p.releaseMark() {
			quiet = p.settle(i)
		}
		if s.Verb == generate.Restart && !s.Rush && quiet {
			p.checkStart(before)
			p.checkQuietWrites()
		}
		p.check(quiet)
		if !quiet || p.run.t.Failed() {
			return
		}
	}
}

// startOperator starts the workloads of the subject, and the operator.
func (p *player) startOperator() {
	if p.subject.Workloads != nil {
		p.subject.Workloads(p.run.t, p.run.cluster)
	}
	start := p.subject.Run
	if p.subject.Prepare != nil {
		start = p.subject.Prepare(p.run.t, p.run.cluster)
	}
	if p.out.there != nil {
		p.run.pace.expect = p.expect
	}
	operator := &controller{run: p.run, name: operatorName, config: p.config(p.run.cluster), start: start}
	p.run.controllers = append(p.run.controllers, operator)
	operator.begin()
}

// finish ends the operator, and collects and checks its requests.
func (p *player) finish() {
	if p.ended {
		return
	}
	p.ended = true
	p.run.collectRequests()
	p.out.last = p.run
	p.checkRequests()
	if p.user != "" && p.subject.checks(NeedsItsRules) {
		p.results.needed(p.run.cluster.Access(p.user).Requests)
	}
	p.run.end()
	p.checkLog()
}

// settle waits until nobody has written for a while, and reports whether the operator is quiet. Controllers of
// the cluster may write for ever, such as that of a CronJob: then it is enough that the operator does not. In between
// the exploration sets the status of workloads, which lets an operator continue that creates one Pod after
// the other.
func (p *player) settle(step int) bool {
	pause := p.pause(step)
	waited := time.Duration(0)
	idle := time.Duration(0) // while others write and the operator does not
	for busy, round := 0, 0; busy < quietRounds && round < allRounds; round++ {
		if p.subject.RealTime > 0 {
			p.waitForWork(pause)
		}
		before, own, sent, delayed := p.revisions(), p.operatorRevisions(), p.sentRequests(), p.run.pace.delayedRequests()
		p.pass(pause)
		waited += pause
		if p.run.t.Failed() {
			return false // the operator has ended, or time stands still
		}
		if p.revisions() != before {
			busy++
			idle += pause
			if p.operatorRevisions() > own {
				idle = 0
				if round+1 >= knownRounds && p.results.knows(p.restless(step)) {
					break
				}
			}
			if idle >= quietRounds*cmp.Or(p.subject.RealTime, quietFor) {
				return true
			}
			continue
		}
		isLoop := step >= 0 && p.run.pace.delayedRequests() > delayed // many at the start may be those of caches
		n := p.sentRequests() - sent
		if p.subject.RealTime > 0 {
			isLoop = n > hotRequestsInRealTime(pause)
		}
		if isLoop {
			p.report(problem{oracle: Converges, key: "loop", step: step, what: fmt.Sprintf("the operator sends requests in a loop: %d within %v, which change nothing; most of them %s. Wait for a change with a watch, or longer", n, pause, p.mostSent(sent))})
			return false
		}
		if p.subject.Workloads != nil || !p.runWorkloads() {
			return true
		}
		busy = 0
	}
	if idle > 0 { // the last writes are those of others
		return true
	}
	restless := p.restless(step)
	restless.what = fmt.Sprintf("the operator still writes after %v; the last writes:", waited)
	restless.detail = strings.Join(p.run.cluster.LastWrites(4), "\n")
	p.report(restless)
	return false
}

// restless returns the problem of an operator that is never quiet, without its text.
func (p *player) restless(step int) problem {
	return problem{oracle: Converges, key: "writes " + p.lastWritten(), step: step}
}

// pause returns how long the operator must not write before settle returns.
func (p *player) pause(step int) time.Duration {
	pause := p.quiet()
	if p.subject.RealTime > 0 {
		return pause + p.delayByFaults()
	}
	if len(p.fault) > 0 {
		// Wait for late events and their effects, and until an instance that is started after a crash has got
		// the lease of the former one.
		pause += 2*lateBy + p.run.leaseDuration()
	}
	if step < 0 && !p.patient {
		pause = startFor
	}
	return pause
}

// pass lets time pass, and waits for the work that is due until then.
func (p *player) pass(d time.Duration) {
	if p.subject.RealTime > 0 {
		p.passInRealTime(d)
		return
	}
	if p.out.there != nil {
		p.out.there.Pass(d, p.idle())
		return
	}
	time.Sleep(d)
	synctest.Wait()
}

// mostSent names the most frequent request after the first ones.
func (p *player) mostSent(first int) string {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	counts := map[string]int{}
	for _, s := range p.run.seen[first:] {
		counts[s.verb+" "+s.resource+" "+s.object]++
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int { return cmp.Compare(counts[a], counts[b]) })
}

func (p *player) sentRequests() int {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	return len(p.run.seen)
}

// lastWritten names the resource of the operator's last write.
func (p *player) lastWritten() string {
	for _, r := range slices.Backward(p.operatorRequests()) {
		if r.Revisions > 0 && !uncounted(r.Resource) {
			return r.Resource + " " + r.Subresource
		}
	}
	return ""
}

// uncounted reports whether writes of a resource do not count as work: heartbeats and Events.
func uncounted(resource string) bool {
	return resource == "leases" || resource == "events" || resource == "nodes"
}

// revisions returns the number of revisions in the trial, without heartbeats and Events.
func (p *player) revisions() int64 {
	return p.run.cluster.Stats().Total(func(counted inspect.Counted) bool { return !uncounted(counted.Resource) }).Revisions
}

// operatorRevisions returns the number of revisions that the operator has made.
func (p *player) operatorRevisions() (n int64) {
	for _, r := range p.operatorRequests() {
		if !uncounted(r.Resource) {
			n += r.Revisions
		}
	}
	return n
}

// report adds a problem, unless its oracle is switched off.
func (p *player) report(found problem) {
	if p.subject.checks(found.oracle) {
		p.out.problems = append(p.out.problems, found)
	}
}

// owned returns the objects whose owner is the custom resource, directly or not.
func owned(objects []state.Object, uid string) (below []state.Object) {
	owners := map[string]bool{}
	for _, o := range objects {
		if o.Name() == uid {
			owners[string(o.GetUID())] = true
		}
	}
	for found := true; found; {
		found = false
		for _, o := range objects {
			if owners[string(o.GetUID())] || !slices.ContainsFunc(o.GetOwnerReferences(), func(r ownerReference) bool { return owners[string(r.UID)] }) {
				continue
			}
			owners[string(o.GetUID())] = true
			below = append(below, o)
			found = true
		}
	}
	return below
}

// objects returns the objects that the trial has made or changed.
func (p *player) objects() []state.Object {
	return p.objectsOf(func(string) bool { return true })
}

// objectsOf returns those of the resources for which wanted returns true.
func (p *player) objectsOf(wanted func(resource string) bool) (found []state.Object) {
	p.noteChanged()
	for _, resource := range slices.Sorted(maps.Keys(p.changed)) {
		if !wanted(resource) {
			continue
		}
		list, err := p.client.Resource(p.changed[resource]).List(context.Background(), listOptions)
		if err != nil {
			continue // the definition is gone
		}
		for i := range list.Items {
			o := state.Object{Resource: resource, Unstructured: &list.Items[i]}
			if p.present[o.Name()] != o.GetResourceVersion() {
				found = append(found, o)
			}
		}
	}
	return found
}

// noteChanged records the resources of all writes until now.
func (p *player) noteChanged() {
	for _, r := range p.run.cluster.Requests() {
		resource := groupResource(r)
		if _, noted := p.changed[resource]; noted || r.Revisions == 0 || r.Resource == "" || state.Ignored(resource) {
			continue
		}
		p.changed[resource] = groupVersionResource(r)
	}
}

// current returns the custom resource; nil: it does not exist.
func (p *player) current() *unstructured.Unstructured {
	u, err := p.customResources().Get(context.Background(), p.seed.object.GetName(), getOptions)
	if err != nil {
		return nil
	}
	return u
}

// customResources returns a client for the custom resource.
func (p *player) customResources() dynamic.ResourceInterface {
	return p.client.Resource(p.resource).Namespace(p.seed.object.GetNamespace())
}
