package explore

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/callers"
)

// check runs the oracles on the cluster after a step, and adds a checkpoint.
func (p *player) check(quiet bool) {
	objects := p.objects()
	c := checkpoint{step: p.step, request: p.sent, quiet: quiet, owned: owned(objects, p.seed.name)}
	if p.exists {
		c.object, _ = p.desired()
	}
	c.written = slices.ContainsFunc(p.operatorRequests(), func(r inspect.Request) bool {
		return r.Revisions > 0 && r.Subresource != "status" && state.Name(groupResource(r), r.Namespace, r.Name) == p.seed.name
	})
	if p.exists && p.marked[p.seed.name] == "" { // an operator may copy the label anywhere
		c.desired = p.direct()
	}
	if p.beside != nil {
		c.beside, c.neighbor = p.beside, append(p.surroundings(), create)
	}
	if names := slices.Sorted(maps.Keys(p.occupied)); len(names) > 0 {
		c.occupied = names[0]
	}
	compared := p.withoutLingering(withoutMarks(p.unignored(objects)))
	c.state = state.New(compared)
	c.managers = maps.Clone(p.managers())
	if p.subject.Workloads != nil {
		c.living = slices.DeleteFunc(compared, func(o state.Object) bool { return p.atRest[o.Name()] && !isWritten(o, c.managers) })
		c.hindered = p.tookFromCluster || p.isHindered(c.living)
	}
	if p.beside != nil && p.exists {
		p.neighbors = map[string]state.Object{}
		for _, o := range owned(objects, p.beside.name) {
			p.neighbors[o.Name()] = o
		}
	}
	p.out.checkpoints = append(p.out.checkpoints, c)
	if generate.Text(p.steps) == generate.Create {
		p.noteChildren(objects)
	}
	if !quiet {
		return
	}
	last := &p.out.checkpoints[len(p.out.checkpoints)-1]
	if p.exists {
		u := p.current()
		if u != nil {
			last.failed = saysFailed(u)
			last.reported = last.occupied != "" && p.reportsTrouble(u)
			p.checkKept(u)
			p.checkSpec(u)
		}
		switch refusal, times := p.refusal(); {
		case u == nil:
		case times > 0:
			last.stuck = refusal
			p.checkReported(u, refusal, times)
		case !isPaused(last.object):
			p.checkGeneration(u)
		}
	} else if p.hasDeleted() {
		p.checkCleanedUp(objects)
	}
	p.checkPods(objects)
	p.checkForeign(objects)
	p.checkOccupied()
	p.checkMarks(objects)
	if p.beside != nil && p.exists {
		p.checkSelectors(objects)
	}
	if len(p.occupied) == 0 { // otherwise some objects are not the operator's
		p.checkInvariants(objects)
	}
}

// unignored returns objects without the fields and objects that the subject ignores.
func (p *player) unignored(objects []state.Object) []state.Object {
	kept := make([]state.Object, 0, len(objects))
	for _, o := range objects {
		if slices.Contains(p.subject.Ignore, o.Resource) {
			continue
		}
		for _, ignore := range p.subject.Ignore {
			if resource, path, ok := strings.Cut(ignore, " "); ok && resource == o.Resource {
				o.Unstructured = &unstructured.Unstructured{Object: without(runtime.DeepCopyJSON(o.Object), strings.Split(strings.TrimPrefix(path, "/"), "/")).(map[string]any)}
			}
		}
		kept = append(kept, o)
	}
	return kept
}

// without removes the fields at a path, in which an asterisk is any index or key.
func without(value any, path []string) any {
	switch parent := value.(type) {
	case map[string]any:
		for key := range parent {
			switch {
			case path[0] != "*" && path[0] != escapeKey.Replace(key):
			case len(path) == 1:
				delete(parent, key)
			default:
				parent[key] = without(parent[key], path[1:])
			}
		}
	case []any:
		if path[0] == "*" && len(path) > 1 {
			for i := range parent {
				parent[i] = without(parent[i], path[1:])
			}
		}
	}
	return value
}

var escapeKey = strings.NewReplacer("~", "~0", "/", "~1")

// hasDeleted reports whether the steps until now have deleted the custom resource.
func (p *player) hasDeleted() bool {
	return slices.ContainsFunc(p.steps[:p.step+1], func(s generate.Step) bool { return s.Verb == generate.Delete })
}

// checkGeneration checks that the status is about the current generation.
func (p *player) checkGeneration(u *unstructured.Unstructured) {
	if !p.seed.status {
		return // each write of the status makes a new generation
	}
	p.noteGeneration(u)
	var former, others []string // sentences, and the same in short
	about := func(path string, object any) {
		if n, ok := object.(int64); ok && n != 0 && n != u.GetGeneration() {
			former = append(former, fmt.Sprintf("%s of %s is %d, although the operator is done with generation %d", path, p.seed.name, n, u.GetGeneration()))
			others = append(others, fmt.Sprintf("%s is %d", path, n))
		}
	}
	if n, ok, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); ok {
		about("status.observedGeneration", n)
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			about(fmt.Sprintf("status.conditions[type=%v].observedGeneration", condition["type"]), condition["observedGeneration"])
		}
	}
	if len(former) > 0 {
		p.report(problem{oracle: TruthfulStatus, key: "generation " + p.seed.resource.GroupResource().String(), step: p.step, what: former[0], detail: strings.Join(others[1:], "\n")})
	}
}

// troubled matches words in a status that report a problem.
var troubled = regexp.MustCompile(`(?i)fail|error|invalid|degraded|reject|forbidden|cannot|unable|denied|not allowed|missing|not ?found|not exist`)

// saysFailed reports whether the status of an object contains words that report a problem. Of a condition it
// reads the reason and the message. It reads the type only if the condition is True, because the type of a
// condition that is False is often such a word.
func saysFailed(u *unstructured.Unstructured) bool {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	conditions, _ := status["conditions"].([]any)
	delete(status, "conditions")
	texts := []any{status}
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			texts = append(texts, condition["reason"], condition["message"])
			if condition["status"] == "True" {
				texts = append(texts, condition["type"])
			}
		}
	}
	return troubled.MatchString(fmt.Sprint(texts...))
}

// refusal returns a request that the server rejects again and again, and how often, or 0. Then the operator
// is stuck.
func (p *player) refusal() (text string, times int) {
	refused, last, before := map[string]int{}, map[string]time.Time{}, map[string]time.Time{}
	existing := map[string]bool{}
	var lastWrite time.Time
	for _, r := range p.run.cluster.Requests() {
		if r.Revisions > 0 && !uncounted(r.Resource) {
			lastWrite = r.Time
			for line := range existing {
				delete(refused, line)
			}
			clear(existing)
		}
		exists := r.Reason == metav1.StatusReasonAlreadyExists
		if !fromOperator(r.AuditID) || r.Code < 400 || r.Code == 403 || r.Code == 404 || r.Code == 410 || r.Code == 429 || r.Fault != "" || r.Code == 409 && !exists {
			continue
		}
		// Many operators try to create an object in every reconciliation. AlreadyExists does not mean that
		// they are stuck, unless they repeat it when nothing else happens. Right after a write, they
		// reconcile because of that write.
		if exists && (r.Time.Before(p.out.times[len(p.out.times)-1]) || !r.Time.After(lastWrite)) {
			continue
		}
		line := requestLine(r, "")
		if exists {
			existing[line] = true
		}
		refused[line]++
		before[line], last[line] = last[line], r.Time
	}
	for _, line := range slices.Sorted(maps.Keys(refused)) {
		if n := refused[line]; n >= 3 && n > times && goesOn(before[line], last[line], time.Now(), p.quiet()) {
			text, times = line, n
		}
	}
	return text, times
}

// longestBackoff is the longest pause of client-go's work queues between two attempts.
const longestBackoff = 1000 * time.Second

// goesOn reports whether a request that was sent at two times is likely to come again: work queues double the
// pause between two attempts.
func goesOn(before, last, now time.Time, quiet time.Duration) bool {
	return now.Sub(last) <= max(quiet, min(2*last.Sub(before), longestBackoff)+time.Second)
}

// checkReported checks that the status, or an Event, reports that the operator is stuck.
func (p *player) checkReported(u *unstructured.Unstructured, refusal string, times int) {
	if !p.reportsTrouble(u) {
		p.report(problem{oracle: TruthfulStatus, key: "silent " + kindOfRequest(refusal), step: p.step,
			what:   fmt.Sprintf("the server has refused a request %d times, and neither the status of %s nor an Event reports that", times, p.seed.name),
			detail: refusal})
	}
}

// reportsTrouble reports whether the status of an object, or a warning among the operator's Events, reports
// a problem.
func (p *player) reportsTrouble(u *unstructured.Unstructured) bool {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	if troubled.MatchString(fmt.Sprint(status)) {
		return true
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok || condition["status"] == "True" {
			continue
		}
		if n, ok := condition["observedGeneration"].(int64); !ok || n == u.GetGeneration() {
			return true
		}
	}
	events, err := p.run.cluster.Clientset().CoreV1().Events(u.GetNamespace()).List(p.run.t.Context(), listOptions)
	if err != nil {
		return false
	}
	managers := p.managers()
	return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && isWritten(&e, managers)
	})
}

// mayOutlive reports whether objects of a resource may remain when the custom resource is deleted.
func mayOutlive(resource string) bool {
	return resource == "persistentvolumeclaims" || resource == "persistentvolumes"
}

// checkCleanedUp checks that no objects of the operator are left.
func (p *player) checkCleanedUp(objects []state.Object) {
	for _, o := range objects {
		if o.Name() == p.seed.name {
			p.report(problem{oracle: CleansUp, key: "finalizer", step: p.step,
				what: fmt.Sprintf("%s was deleted, and is still there with the finalizers %q", o.Name(), o.GetFinalizers())})
			return
		}
	}
	if p.beside != nil {
		return // the remaining objects may belong to it
	}
	var left []string
	resource := ""
	rebuilt := map[string]bool{} // objects owned by others that the custom resource needs, and that steps have changed
	for _, s := range p.steps[:p.step+1] {
		if s.Verb == generate.Withdraw || s.Verb == generate.Provide || s.Verb == generate.EditNeed {
			for _, o := range owned(objects, s.Object) {
				rebuilt[o.Name()] = true
			}
		}
	}
	for _, o := range objects {
		if rebuilt[o.Name()] || p.atRest[o.Name()] || p.present[o.Name()] != "" || mayOutlive(o.Resource) || slices.Contains(p.subject.Ignore, o.Resource) || p.makerOf(o.Unstructured) == otherMaker {
			continue
		}
		left = append(left, o.Name())
		resource = o.Resource
	}
	if len(left) > 0 {
		p.report(problem{oracle: CleansUp, key: "left " + resource, step: p.step,
			what: fmt.Sprintf("%s was deleted, and these objects are left:", p.seed.name), detail: strings.Join(left, "\n")})
	}
}

// checkForeign checks that the operator has deleted only its own objects.
func (p *player) checkForeign(objects []state.Object) {
	there := map[string]bool{}
	for _, o := range objects {
		there[o.Name()] = true
	}
	own := map[string]bool{}
	for _, r := range p.run.cluster.Requests() {
		name := state.Name(groupResource(r), r.Namespace, r.Name)
		switch operators := fromOperator(r.AuditID); {
		case r.Revisions == 0 || uncounted(r.Resource):
		case r.Verb == "create" || r.Verb == "patch" && r.Patch == "apply":
			own[name] = own[name] || operators
		case !operators || r.Verb != "delete" && r.Verb != "deletecollection":
		case r.Verb == "delete" && own[name] || there[name]:
		case r.Verb == "delete" && r.Name != "" && (p.present[name] != "" || p.needed(name)):
			p.report(problem{oracle: CleansUp, key: "foreign " + r.Resource, step: p.step, what: "the operator has deleted " + name + ", which it has not made"})
		}
	}
	if p.beside != nil && !there[p.beside.name] {
		p.report(problem{oracle: CleansUp, key: "neighbor", step: p.step, what: "the operator has deleted " + p.beside.name})
	}
	if p.beside != nil && p.hasDeleted() && !p.exists {
		p.checkNeighbor(objects)
	}
}

func (p *player) needed(name string) bool {
	return slices.ContainsFunc(p.seed.needs, func(n need) bool { return n.name == name && !p.withdrawn[name] })
}

// checkNeighbor checks that the delete of the custom resource has not changed the objects of its neighbor.
func (p *player) checkNeighbor(objects []state.Object) {
	now := map[string]types.UID{}
	for _, o := range owned(objects, p.beside.name) {
		now[o.Name()] = o.GetUID()
	}
	for _, name := range slices.Sorted(maps.Keys(p.neighbors)) {
		if o := p.neighbors[name]; now[name] != o.GetUID() && (p.makerOf(o.Unstructured) == operatorMaker || p.operatorDeleted(o.Unstructured)) {
			p.report(problem{oracle: CleansUp, key: "neighbor's " + strings.SplitN(name, " ", 2)[0], step: p.step,
				what: fmt.Sprintf("%s was deleted, and with it %s, which belongs to %s", p.seed.name, name, p.beside.name)})
			return
		}
	}
}

// checkStart checks that the operator has not written since it was started again, unless others have written
// before it.
func (p *player) checkStart(before int64) {
	n := p.operatorRevisions() - before
	if n == 0 || len(p.fault) > 0 || !p.operatorWritesFirst() {
		return
	}
	var lines []string
	resource := ""
	for _, r := range p.operatorRequests() {
		if r.Revisions > 0 && !uncounted(r.Resource) {
			lines = append(lines, p.line(r))
			resource = r.Resource
		}
	}
	lines = lines[max(0, len(lines)-int(n)):]
	writes := p.run.cluster.LastWrites(int(min(n, 5)))
	p.report(problem{oracle: IdempotentStart, key: "start " + resource, step: p.step,
		what: "nothing has changed, and the operator writes when it is started again:", detail: strings.Join(append(lines, writes...), "\n")})
}

// operatorWritesFirst reports whether the first write since the last step is the operator's.
func (p *player) operatorWritesFirst() bool {
	for _, r := range p.run.cluster.Requests() {
		if r.Revisions > 0 && !uncounted(r.Resource) && !r.Time.Before(p.out.times[p.step]) {
			return fromOperator(r.AuditID)
		}
	}
	return false
}

// checkRequests checks all requests of the operator.
func (p *player) checkRequests() {
	requests := p.operatorRequests()
	p.out.requests = append(p.out.requests, requests...)
	if p.out.callers == nil {
		p.out.callers = map[string]string{}
	}
	p.run.mu.Lock()
	for _, s := range p.run.seen {
		if line := s.line(); line != "" {
			p.out.callers[s.auditID] = line
		}
	}
	p.run.mu.Unlock()
	for _, r := range requests {
		var warnings []string
		if len(r.Webhooks) == 0 && r.Verb != "watch" && r.Verb != "list" && r.Verb != "get" {
			warnings = p.warnings(r)
		}
		switch {
		case p.user != "" && r.Code == 403 && strings.Contains(r.Message, "is forbidden: User "):
			p.report(problem{oracle: Permitted, key: r.Verb + " " + r.Resource + "/" + r.Subresource, step: -1,
				what: "the operator's roles do not allow a request that it needs", detail: r.Message})
		case len(warnings) > 0:
			p.report(problem{oracle: CleanWrites, key: r.Resource + warnings[0], step: -1,
				what: "the server warns about a write of the operator", detail: p.line(r) + "\n" + strings.Join(warnings, "\n")})
		case r.DropsStatus && !p.copiesStatus(r):
			p.report(problem{oracle: CleanWrites, key: r.Resource + " status", step: -1,
				what: "the server drops the status in a write of the operator, because it is stored at the subresource status alone", detail: p.line(r)})
		}
	}
	if there := p.out.there; there != nil {
		p.reportPanics(there.Panics())
	}
	for _, section := range p.run.cluster.Findings().Sections {
		if strings.Contains(section.Title, "panicked") {
			p.reportPanics(section.Lines)
		}
	}
}

// reportPanics reports panics from which a library has recovered.
func (p *player) reportPanics(lines []string) {
	if len(lines) > 0 {
		p.report(problem{oracle: NoPanic, key: "panic" + placeOfPanic.FindString(lines[0]), step: -1, what: "the operator panics", detail: strings.Join(lines, "\n")})
	}
}

// checkLog turns messages of the cluster and the operator into problems. If the trial has failed for another reason, such as what Subject.Prepare has started, that is its error.
func (p *player) checkLog() {
	text := p.run.t.text()
	for line := range strings.SplitSeq(text, "\n") {
		oracle := NoPanic
		switch {
		case strings.HasPrefix(line, "fakecluster: time in the synctest bubble stands still"), strings.Contains(line, "whenever it is called"):
			oracle = Converges
		case strings.Contains(line, "has not stopped"):
			oracle = NoLeak
		case strings.HasPrefix(line, "the controller "+operatorName+" has "):
			_, stack, _ := strings.Cut(text, line)
			line = strings.Replace(line, "the controller operator", "the operator", 1)
			if place := callers.LineOfStack(stack); strings.HasPrefix(line, "the operator has panicked") && place != "" {
				line += " (" + place + ")"
			}
		default:
			continue
		}
		p.report(problem{oracle: oracle, key: digits.ReplaceAllString(line, "0"), step: -1, what: strings.TrimPrefix(line, "fakecluster: ")})
		return
	}
	if p.run.t.Failed() && text != "" && len(p.out.problems) == 0 { // otherwise a problem has ended the trial
		p.out.err = fmt.Errorf("the trial has failed: %s", text)
	}
}

// placeOfPanic finds the file and the line in a panic.
var placeOfPanic = regexp.MustCompile(`[^ (]+\.go:[0-9]+`)

var digits = regexp.MustCompile(`[0-9]+`)

// operatorRequests returns the requests of the operator.
func (p *player) operatorRequests() (requests []inspect.Request) {
	for _, r := range p.run.cluster.Requests() {
		if fromOperator(r.AuditID) {
			requests = append(requests, r)
		}
	}
	return requests
}

// line returns a request of the operator as one line, with the line of code that sends it.
func (p *player) line(r inspect.Request) string { return requestLine(r, p.codeOf(r.AuditID)) }

// codeOf returns the line of code that sends the request with this audit ID, or "".
func (p *player) codeOf(auditID string) string {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	for _, s := range p.run.seen {
		if s.auditID == auditID {
			return s.line()
		}
	}
	return ""
}

func requestLine(r inspect.Request, code string) string {
	text := fmt.Sprintf("%s %s: %d", r.Verb, r.Object(), r.Code)
	if r.Patch != "" {
		text = fmt.Sprintf("%s %s: %d", r.Patch, r.Object(), r.Code)
	}
	if r.Message != "" {
		text += " " + r.Message
	}
	if r.Repeats {
		text += ", changes nothing"
	}
	if r.Fault != "" {
		text += ", " + r.Fault
	}
	if code != "" {
		text += " (" + code + ")"
	}
	return text
}
