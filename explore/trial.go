package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
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
)

const (
	// quietFor is how long nothing may be written until a step counts as done, and patience the same for trials that confirm a
	// problem: an operator may look again later.
	quietFor = 75 * time.Second
	patience = 11 * time.Minute
	// startFor is how long an operator gets to start.
	startFor = 10 * time.Second
	// quietRounds is how often this time may pass with writes of the operator until the operator counts as never quiet, and knownRounds if that is a finding already:
	// such trials take the longest.
	quietRounds, knownRounds = 12, 2
	// allRounds is how often it may pass in all, if the operator comes to rest now and then, and goes on because what it has made has become ready.
	allRounds = 4 * quietRounds
	// operatorName is the name of the operator's client.
	operatorName = "operator"
)

// trial is what happens to one seed in a cluster of its own.
type trial struct {
	seed  *seed
	steps []generate.Step
	fault schedule
	// patient is set for trials that confirm a problem: they begin at another time, and wait longer after each step.
	patient bool
}

// quiet is how long nothing may be written after a step.
func (p *playing) quiet() time.Duration {
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

// String is the trial as Subject.Replay takes it.
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
	desired []generate.Step // what leads to this state at once; nil: there is no custom resource
	// beside is another custom resource, and neighbor what leads to its state at once; nil: there is none.
	beside   *seed
	neighbor []generate.Step
	occupied string         // an object of somebody else that has the name of one that the operator makes; empty: there is none
	reported bool           // the status of the custom resource or an Event says that it is in the way
	failed   bool           // the status of the custom resource says that something is wrong
	object   map[string]any // what the user wants; nil: no custom resource
	written  bool           // the operator has written the custom resource, not only its status
	quiet    bool           // the operator came to rest
	stuck    string         // a request that the server refuses again and again; empty: none
	owned    []state.Object // by the custom resource, directly or not
}

// problem is what an oracle has found in a trial.
type problem struct {
	oracle Oracle
	key    string // equal for equal problems
	what   string // in one sentence
	detail string // lines below it
	step   int    // index of the step after which it was found; -1: none
	// compared is set if it is a difference to what is reached at once, by the steps expected.
	compared bool
	expected []generate.Step
	// stuck is set if the trial has not ended.
	stuck bool
}

// outcome is what was seen of a trial.
type outcome struct {
	rejected    string // why the trial is not possible; empty: it is
	err         error  // why it could not be run
	problems    []problem
	checkpoints []checkpoint
	requests    []inspect.Request // of the operator
	callers     map[string]string // lines of code, by audit ID
	run         *run
	last        *run // of the version that ran last, at the end; nil: the trial has not ended

	// children are the objects that the operator has made for a custom resource that is created as it is, by name; nil: it is another trial.
	children map[string]child

	generation bool     // status.observedGeneration was set
	without    *problem // that it was not; nil: it was, or the operator has not written the status

	began time.Time   // when the operator was started
	times []time.Time // of the steps that were taken
}

// playing is a trial that is being run, in its bubble.
type playing struct {
	*operatorExploration
	*installation // the one that runs
	trial
	out     *outcome
	run     *run
	client  dynamic.Interface
	present map[string]string // resourceVersions of objects that the trial has not made, by name
	// resource is that of the custom resource, in the version of the seed if it is served.
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
	neighbors map[string]types.UID                  // what belongs to it
	atRest    map[string]bool                       // names of objects when the operator had started
	// deletedClaims are claims of the operator that a step has deleted.
	deletedClaims map[types.UID]bool
	step          int
	sent          int // requests of the operator before the step

	replaced uint64         // how often the version of the operator was replaced
	ended    bool           // the run of the present version
	pods     pods           // before the version was replaced; nil: they are compared
	wanted   map[string]any // the spec of the custom resource before that; nil: it has changed since
}

// playToEnd runs a trial in a bubble of its own, or in real time.
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
	place := e.inBubble
	if e.subject.RealTime > 0 {
		place = e.inRealTime
	}
	place(out, func(t testing.TB) {
		r := out.run
		r.t = &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if p := recover(); p != nil {
					out.err = fmt.Errorf("the trial has panicked: %v\n%s", p, debug.Stack())
				}
			}()
			r.cluster = e.base.Fork(r.t)
			p := &playing{operatorExploration: e, installation: e.installation, trial: tr, out: out, run: r, client: r.cluster.Dynamic(),
				present: e.present, resource: tr.seed.resource, changed: map[string]schema.GroupVersionResource{}, withdrawn: map[string]bool{},
				children: children, occupied: map[string]*unstructured.Unstructured{}, marked: map[string]types.UID{}, deletedClaims: map[types.UID]bool{}}
			defer p.finish()
			p.play()
		}()
		<-done
		if r.cluster == nil {
			out.err = errors.New(r.t.text())
		}
	})
}

// newRun returns a run without faults, whose cluster and test are still to be set.
func (e *operatorExploration) newRun() *run {
	r := &run{stacks: true, still: make(chan bubble.Blocked, 1), endless: make(chan problem, 1), counts: map[request]int{}, reached: map[occurrence]bool{}, points: map[occurrence]point{}}
	if r.realTime = e.subject.RealTime > 0; !r.realTime {
		r.pace = &pace{}
	}
	return r
}

// play starts the operator and takes the steps.
func (p *playing) play() {
	if !p.createNeeds(false) {
		return
	}
	if p.patient && p.subject.RealTime == 0 {
		time.Sleep(lateBegin)
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

// startOperator starts the operator, and what lives beside it.
func (p *playing) startOperator() {
	if p.subject.Workloads != nil {
		p.subject.Workloads(p.run.t, p.run.cluster)
	}
	start := p.subject.Run
	if p.subject.Prepare != nil {
		start = p.subject.Prepare(p.run.t, p.run.cluster)
	}
	operator := &controller{run: p.run, name: operatorName, config: p.config(p.run.cluster), start: start}
	p.run.controllers = append(p.run.controllers, operator)
	operator.begin()
}

// finish ends the operator and collects what was seen.
func (p *playing) finish() {
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

// settle waits until nothing has been written for a while. It reports whether that came. What the exploration itself writes, as when Pods become ready,
// lets an operator go on that makes one Pod after the other.
func (p *playing) settle(step int) bool {
	pause := p.pause(step)
	waited := time.Duration(0)
	for busy, round := 0, 0; busy < quietRounds && round < allRounds; round++ {
		if p.subject.RealTime > 0 {
			p.waitForWork(pause)
		}
		before, sent, delayed := p.revisions(), p.sentRequests(), p.run.pace.delayedRequests()
		p.pass(pause)
		waited += pause
		if p.run.t.Failed() {
			return false // the operator has ended, or time stands still
		}
		if p.revisions() != before {
			busy++
			if round+1 >= knownRounds && p.results.knows(p.restless(step)) {
				break
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
	restless := p.restless(step)
	restless.what = fmt.Sprintf("the operator still writes after %v; the last writes:", waited)
	restless.detail = strings.Join(p.run.cluster.LastWrites(4), "\n")
	p.report(restless)
	return false
}

// restless is the problem of an operator that has not come to rest, without its text.
func (p *playing) restless(step int) problem {
	return problem{oracle: Converges, key: "writes " + p.lastWritten(), step: step}
}

// pause is how long nothing may be written until settle returns.
func (p *playing) pause(step int) time.Duration {
	pause := p.quiet()
	if p.subject.RealTime > 0 {
		return pause + p.delayByFaults()
	}
	if len(p.fault) > 0 {
		// Until late events have come, and what waited for them, and until an instance that is started after a crash has got the lease of the former one.
		pause += 2*lateBy + p.run.leaseDuration()
	}
	if step < 0 && !p.patient {
		pause = startFor
	}
	return pause
}

// pass lets time pass, and what is due until then happen.
func (p *playing) pass(d time.Duration) {
	if p.subject.RealTime > 0 {
		p.passInRealTime(d)
		return
	}
	time.Sleep(d)
	synctest.Wait()
}

// mostSent names the request that was sent most often after the first ones.
func (p *playing) mostSent(first int) string {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	counts := map[string]int{}
	for _, s := range p.run.seen[first:] {
		counts[s.verb+" "+s.resource+" "+s.object]++
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int { return cmp.Compare(counts[a], counts[b]) })
}

func (p *playing) sentRequests() int {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	return len(p.run.seen)
}

// lastWritten names the resource of the last write.
func (p *playing) lastWritten() string {
	requests := p.run.cluster.Requests()
	for _, r := range slices.Backward(requests) {
		if r.Revisions > 0 && !uncounted(r.Resource) {
			return r.Resource + " " + r.Subresource
		}
	}
	return ""
}

// uncounted reports whether writes of a resource do not mean that anything goes on: heartbeats and reports.
func uncounted(resource string) bool {
	return resource == "leases" || resource == "events" || resource == "nodes"
}

// revisions is how many revisions there were in the trial, without heartbeats.
func (p *playing) revisions() int64 {
	return p.run.cluster.Stats().Total(func(counted inspect.Counted) bool { return !uncounted(counted.Resource) }).Revisions
}

// operatorRevisions is how many revisions the operator has made.
func (p *playing) operatorRevisions() (n int64) {
	for _, r := range p.operatorRequests() {
		if !uncounted(r.Resource) {
			n += r.Revisions
		}
	}
	return n
}

// report adds a problem, unless its oracle is switched off.
func (p *playing) report(found problem) {
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
func (p *playing) objects() []state.Object {
	return p.objectsOf(func(string) bool { return true })
}

// objectsOf returns those of some resources.
func (p *playing) objectsOf(wanted func(resource string) bool) (found []state.Object) {
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

// noteChanged notes the resources of the writes until now.
func (p *playing) noteChanged() {
	for _, r := range p.run.cluster.Requests() {
		resource := groupResource(r)
		if _, noted := p.changed[resource]; noted || r.Revisions == 0 || r.Resource == "" || state.Ignored(resource) {
			continue
		}
		p.changed[resource] = groupVersionResource(r)
	}
}

// current returns the custom resource; nil: it does not exist.
func (p *playing) current() *unstructured.Unstructured {
	u, err := p.customResources().Get(context.Background(), p.seed.object.GetName(), getOptions)
	if err != nil {
		return nil
	}
	return u
}

// customResources is the client of the custom resource.
func (p *playing) customResources() dynamic.ResourceInterface {
	return p.client.Resource(p.resource).Namespace(p.seed.object.GetNamespace())
}
