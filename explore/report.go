package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/internal/printable"
)

// shownRequests is how many requests of the operator a report shows.
const shownRequests = 12

// shownLines is how many lines of a difference a report shows.
const shownLines = 60

// finding returns the finding for a problem.
func (e *operatorExploration) finding(tr trial, out *outcome, p problem) Finding {
	var b strings.Builder
	fmt.Fprintf(&b, "explore: the operator %s (oracle %s).\n", p.oracle.claim(), p.oracle)
	b.WriteString("After these steps\n")
	for i, s := range tr.steps {
		pause := ""
		if s.Rush {
			pause = " (at once)"
		}
		text := sentence(tr.seed, s) + pause
		if p.step == i && i < len(tr.steps)-1 {
			text += "   ← here"
		}
		fmt.Fprintf(&b, "    %d. %s\n", i+1, text)
	}
	for _, f := range tr.fault {
		fmt.Fprintf(&b, "    where %s\n", f.explain())
	}
	b.WriteString(p.what)
	b.WriteByte('\n')
	if p.expected != nil {
		fmt.Fprintf(&b, "  - expected, as it is after: %s\n  + actual\n", generate.Text(p.expected))
	}
	if p.detail != "" {
		if lines := strings.Split(p.detail, "\n"); len(lines) > shownLines {
			p.detail = strings.Join(append(lines[:shownLines], fmt.Sprintf("… %d lines more", len(lines)-shownLines)), "\n")
		}
		b.WriteString("    " + strings.ReplaceAll(p.detail, "\n", "\n    ") + "\n")
	}
	if lines := e.requestsOf(out); len(lines) > 0 {
		b.WriteString("The operator's last writes:\n    " + strings.Join(lines, "\n    ") + "\n")
	}
	if e.subject.RealTime > 0 {
		fmt.Fprintf(&b, "The trial ran in real time, with %v after each step. A slow machine may need more: see Subject.RealTime.\n", e.subject.RealTime)
	}
	fmt.Fprintf(&b, "To run this trial alone:\n    go test -run '^%s$' -explore.replay='%s'\n", e.t.Name(), strings.ReplaceAll(tr.String(), "'", `'\''`))
	fmt.Fprintf(&b, "If this is on purpose, see docs/explore-operator.md#%s", p.oracle)
	return Finding{Oracle: p.oracle, Trial: tr.String(), What: p.what, Report: printable.Text(b.String()), timelines: e.timelines(tr, out, p)}
}

// sentence returns a step in words.
func sentence(s *seed, step generate.Step) string {
	switch step.Verb {
	case generate.Create, generate.Delete:
		return step.Verb + " " + s.name
	case generate.Restart:
		return "restart the operator"
	case generate.Fail:
		return "all workloads become unavailable"
	case generate.Heal:
		return "all workloads become available again"
	case generate.DeleteOwned:
		return "somebody deletes " + step.Object
	case generate.EditOwned:
		return fmt.Sprintf("somebody changes %s", strings.TrimPrefix(step.String(), generate.EditOwned+" "))
	case generate.Neighbor:
		return "create " + s.neighbor.name + ", which is equal"
	case generate.Namesake:
		return "create " + s.namesake.name + ", which is equal, with what it needs"
	case generate.EditNeed:
		if step.Value == nil {
			return "remove " + step.Path + " of " + step.Object
		}
		return "change " + strings.TrimPrefix(step.String(), generate.EditNeed+" ")
	case generate.Occupy:
		return "somebody else creates " + step.Object
	case generate.Mark:
		if step.Object == s.name {
			return "somebody sets a label, an annotation and a finalizer on " + step.Object
		}
		return "somebody sets a label and an annotation on " + step.Object
	case generate.Withdraw:
		return "delete " + step.Object
	case generate.Upgrade:
		return "install and start the new version of the operator"
	case generate.Downgrade:
		return "install and start the old version again"
	case generate.Rewrite:
		return "write each custom resource as it is, so that it is stored in the storage version"
	case generate.Provide:
		return "create " + step.Object
	}
	return step.String()
}

// requestsOf returns lines for the last writes and rejected reads of the operator. Equal requests share a
// line, with their number.
func (e *operatorExploration) requestsOf(out *outcome) (lines []string) {
	times := map[string]int{}
	for _, r := range slices.Backward(out.requests) {
		if uncounted(r.Resource) || r.Code < 400 && (r.Verb == "get" || r.Verb == "list" || r.Verb == "watch") {
			continue
		}
		line := requestLine(r, out.callers[r.AuditID])
		if times[line]++; times[line] == 1 && len(lines) < shownRequests {
			lines = append(lines, line)
		}
	}
	slices.Reverse(lines)
	for i, line := range lines {
		if n := times[line]; n > 1 {
			lines[i] += fmt.Sprintf(", %d times", n)
		}
	}
	return lines
}

// String returns a summary in one line.
func (f Found) String() string {
	text := fmt.Sprintf("%s, %d rejected by the API server, %s", printable.Count(f.Trials, "trial"), f.Rejected, printable.Count(len(f.Findings), "finding"))
	if f.RealTime > 0 {
		text += fmt.Sprintf("; in real time, with %v after each step", f.RealTime)
	}
	if f.Shard != "" {
		text += "; shard " + f.Shard
	}
	if len(f.Unchecked) > 0 {
		text += "; not checked: " + strings.Join(f.Unchecked, ", ")
	}
	if len(f.Left) > 0 {
		text += fmt.Sprintf("; %s of the dump left out: %s", printable.Count(len(f.Left), "object"), strings.Join(f.Left, "; "))
	}
	return text
}
