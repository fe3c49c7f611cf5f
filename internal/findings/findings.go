package findings

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// maxLine is the maximum length of a line, in bytes.
const maxLine = 400

// Source has what findings are made from: the store, the history and the registry of a cluster.
type Source struct {
	Store    *store.Store
	History  *history.Recorder
	Registry *resource.Registry
	// Panics are the panics of handlers and controllers, the oldest first.
	Panics []inspect.Panic
	// Needs returns the rules that a user lacks, in the form of a Role; nil: RBAC is off.
	Needs func(user string) []string
	// Whole: no line is shortened or left out.
	Whole bool
	// Since is the revision after which writes count; 0: all writes of the history.
	Since int64

	began time.Time // times of findings are relative to it
	// shared are the names of programs that several users run, such as a test with its operator.
	shared map[string]bool
}

// section is a part of the findings.
type section struct {
	title string
	lines []string
	most  int // the maximum number of lines
}

// Collect returns the findings. There are none if the cluster got no requests and nothing panicked.
func Collect(c Source) inspect.Findings {
	stats := c.History.Stats()
	c.began, c.shared = c.History.Began(), sharedNames(stats)
	requests := c.History.Requests()
	if len(requests) == 0 && len(c.Panics) == 0 {
		return inspect.Findings{}
	}
	slices.Reverse(requests) // the newest first
	changes := c.changes()
	total, since := int64(0), time.Duration(0)
	for _, counts := range stats {
		total += counts.Requests
	}
	if len(requests) > 0 {
		since = requests[0].Time.Sub(c.began)
	}
	out := inspect.Findings{Summary: fmt.Sprintf("what happened in the cluster, the newest first (%s, the last after %s):", printable.Count(total, "request"), round(since))}
	sections := []section{
		{"what panicked:", c.panics(requests), 4},
		{"not available:", changes.unavailable(c), 8},
		{"objects that changed without end:", changes.loops(c), 5},
		{"writes that change nothing, again and again:", c.repeats(stats), 4},
		{"refused:", c.refused(requests, false), 10},
		{"conflicts, because another write came first:", c.refused(requests, true), 5},
		{"sent, but not kept:", c.dropped(requests), 5},
		{"warnings of the server (an unknown field is not kept):", c.warnings(requests), 5},
		{"Warning Events:", changes.warningEvents(c), 5},
		{"deleted, but still there:", changes.stuckDeletions(c), 5},
		{"owned, but not watched:", changes.unwatched(c, stats), 5},
		{"owned and changed, without a reaction of the controller:", changes.ignoredChildren(c, stats, requests), 5},
		{"owned, deleted, and not created again:", changes.deletedChildren(c, stats), 5},
		{"timestamps that are written without end:", c.timestamps(requests, stats), 3},
		{"read again and again, though nothing changed:", c.repeatedReads(requests, changes), 3},
		{"answered despite a fault:", c.faulted(requests), 3},
		{"webhooks that could not be called:", c.failedCalls(requests), 4},
		{"webhooks that were never called:", c.uncalled(stats), 4},
		{"not answered yet:", c.unanswered(requests), 4},
		{"requests by client:", clients(stats, requests), 6},
	}
	for _, s := range sections {
		if len(s.lines) == 0 {
			continue
		}
		shown := min(len(s.lines), s.most)
		if c.Whole {
			shown = len(s.lines)
		}
		finding := inspect.Finding{Title: s.title, More: len(s.lines) - shown}
		for _, line := range s.lines[:shown] {
			finding.Lines = append(finding.Lines, c.shortened(line))
		}
		out.Sections = append(out.Sections, finding)
	}
	return out
}

// shortened returns text as one line of the log, cut unless Whole is set.
func (c Source) shortened(text string) string {
	if c.Whole {
		return strings.Join(strings.Fields(text), " ")
	}
	return oneLine(text)
}

// oneLine returns text as one line, cut after maxLine bytes.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if shown := []rune(text); len(shown) > maxLine {
		return string(shown[:maxLine]) + "…"
	}
	return text
}

// round rounds a duration for display.
func round(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}

// after returns when something happened, relative to began.
func (c Source) after(t time.Time) string { return "+" + round(t.Sub(c.began)).String() }

// verbOf returns the verb of a request; for a patch, its type.
func verbOf(verb, patch string) string {
	if patch == "apply" {
		return patch
	}
	return verb
}

// panics lists the panics of handlers and controllers, and those of the server while it served a request.
func (c Source) panics(requests []inspect.Request) (lines []string) {
	panics := slices.Clone(c.Panics)
	for i := range requests {
		if q := &requests[i]; q.Reason == history.Panicked {
			panics = append(panics, inspect.Panic{Time: q.Time, Handler: fmt.Sprint("for the request ", c.client(q), " ", verbOf(q.Verb, q.Patch), " ", q.Object()), What: q.Message})
		}
	}
	slices.SortStableFunc(panics, func(a, b inspect.Panic) int { return b.Time.Compare(a.Time) })
	same := func(a inspect.Panic) func(inspect.Panic) bool {
		return func(b inspect.Panic) bool { return a.Handler == b.Handler && a.What == b.What }
	}
	for i, p := range panics {
		if slices.ContainsFunc(panics[:i], same(p)) {
			continue // it is counted with the newest
		}
		times := 0
		for _, other := range panics {
			if same(p)(other) {
				times++
			}
		}
		line := fmt.Sprintf("%s %s", c.after(p.Time), p.Handler)
		if times > 1 {
			line += fmt.Sprintf(" (%d times)", times)
		}
		lines = append(lines, line+": "+p.What)
	}
	return lines
}

// isRefused reports whether a request was rejected for a reason that its client may not expect. A missing object and an
// expired watch are usual.
func isRefused(q *inspect.Request) bool {
	switch {
	case q.Code == 0 && !q.Running && q.Fault != "":
		return true
	case q.Code < 400 || q.Reason == history.Panicked:
		return false
	case q.Code == 404 && q.Name != "" && (q.Verb == "get" || q.Verb == "delete") && strings.Contains(q.Message, `"`+q.Name+`" not found`):
		return false
	case q.Code == 410:
		return false
	}
	return true
}

// isLate reports whether a write was rejected because another one came first. Other conflicts concern field owners and
// preconditions.
func isLate(q *inspect.Request) bool {
	return q.Reason == "Conflict" && q.Fault == "" && strings.Contains(q.Message, "the object has been modified")
}

// isOwn reports whether a client is one of fakecluster's components: the server, a controller, the scheduler, a node, or what provides volumes.
func isOwn(user, agent string) bool {
	for _, prefix := range []string{"system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "system:node:", "system:volume-provisioner", "system:workloads"} {
		if strings.HasPrefix(user, prefix) {
			return true
		}
	}
	return strings.HasPrefix(user, "system:serviceaccount:kube-system:") && strings.HasPrefix(agent, "kube-controller-manager/")
}

// endless is how often a component must be rejected in the same way to be listed.
const endless = 20

// explains reports whether count rejections of a request are worth a line. A conflict of one of fakecluster's components
// is not: it happens in every cluster, and the component tries again.
func explains(q *inspect.Request, count int) bool {
	return !isOwn(q.User, q.UserAgent) || q.Fault != "" || q.Code != http.StatusConflict && q.Code != http.StatusNotFound || count >= endless
}

// refused lists the rejected requests, equal ones together. Those of fakecluster's components come last, and only if
// they explain something.
func (c Source) refused(requests []inspect.Request, conflicts bool) (lines []string) {
	type kind struct{ client, verb, object, message, fault string }
	type group struct {
		kind     kind
		first    *inspect.Request
		count    int
		sameRead bool // all of them sent the same resourceVersion
	}
	var groups []*group
	groupOf := map[kind]*group{}
	for i := range requests {
		q := &requests[i]
		if !isRefused(q) || conflicts != isLate(q) {
			continue
		}
		k := kind{c.client(q), verbOf(q.Verb, q.Patch), q.Object(), q.Message, q.Fault}
		if groupOf[k] == nil {
			groupOf[k] = &group{kind: k, first: q, sameRead: true}
			groups = append(groups, groupOf[k])
		}
		groupOf[k].count++
		groupOf[k].sameRead = groupOf[k].sameRead && q.Read == groupOf[k].first.Read
	}
	groups = slices.DeleteFunc(groups, func(g *group) bool { return !explains(g.first, g.count) })
	slices.SortStableFunc(groups, func(a, b *group) int {
		return map[bool]int{true: 1}[isOwn(a.first.User, a.first.UserAgent)] - map[bool]int{true: 1}[isOwn(b.first.User, b.first.UserAgent)]
	})
	needed := map[string]bool{}
	for _, g := range groups {
		line := fmt.Sprintf("%s %s %s %s", c.after(g.first.Time), g.kind.client, g.kind.verb, g.kind.object)
		if g.count > 1 {
			line += fmt.Sprintf(" (%d times)", g.count)
		}
		if conflicts {
			line += c.conflict(g.first, g.count > 1 && g.sameRead)
		} else {
			line += fmt.Sprintf(": %d %s", g.first.Code, g.first.Reason)
			if g.kind.fault != "" {
				line += " (fault: " + g.kind.fault + ")"
			}
			switch {
			case g.first.Code == 0:
				line = strings.Replace(line, ": 0 ", ": no answer", 1)
			case g.kind.message != "":
				line = strings.TrimSpace(line) + ": " + g.kind.message
			case g.first.Code == 404:
				line = strings.TrimSpace(line) + ": the cluster does not serve " + g.first.Path + c.undefined(g.first.Path)
			}
		}
		lines = append(lines, line)
		if user := g.first.User; g.first.Code == 403 && c.Needs != nil && !needed[user] {
			needed[user] = true
			if rules := c.Needs(user); len(rules) > 0 {
				lines = append(lines, fmt.Sprintf("  the roles of %s lack: %s", user, strings.Join(rules, "; ")))
			}
		}
	}
	return lines
}

// unanswered lists the requests in flight, without watches.
func (c Source) unanswered(requests []inspect.Request) (lines []string) {
	for i := range requests {
		if q := &requests[i]; q.Running && q.Verb != "watch" && q.Code == 0 {
			lines = append(lines, fmt.Sprintf("%s %s %s %s, for %s", c.after(q.Time), c.client(q), verbOf(q.Verb, q.Patch), q.Object(), round(q.Latency)))
		}
	}
	return lines
}

// manyRepeats is the number of writes without a change from which on a client is listed.
const manyRepeats = 20

// repeats lists the clients whose writes change nothing.
func (c Source) repeats(stats inspect.Stats) (lines []string) {
	type found struct {
		counted inspect.Counted
		count   int64
	}
	var sorted []found
	for counted, counts := range stats {
		if counts.Repeats >= manyRepeats {
			sorted = append(sorted, found{counted, counts.Repeats})
		}
	}
	slices.SortFunc(sorted, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(fmt.Sprint(a.counted), fmt.Sprint(b.counted)))
	})
	for _, f := range sorted {
		lines = append(lines, fmt.Sprintf("%s %s %s: %d times", c.clientOf(f.counted.User, f.counted.UserAgent), f.counted.Verb,
			inspect.ObjectName(f.counted.Group, f.counted.Resource, f.counted.Subresource, "", ""), f.count))
	}
	return lines
}
