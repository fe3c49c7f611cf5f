package explore

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"github.com/fakecluster/fakecluster/internal/printable"
)

// timeline has the steps of a trial, and the requests of the operator that changed something or were
// rejected.
type timeline struct {
	Title   string
	Moments []moment
}

// moment is one line of a timeline.
type moment struct {
	At   string // since the operator was started
	Kind string // step, write or refused
	Text string
}

// timelineOf returns the timeline of an outcome.
func (e *operatorExploration) timelineOf(title string, tr trial, out *outcome) *timeline {
	type timed struct {
		time time.Time
		moment
	}
	var moments []timed
	for i, taken := range out.times {
		moments = append(moments, timed{taken, moment{Kind: "step", Text: sentence(tr.seed, tr.steps[i])}})
	}
	for _, r := range out.requests {
		shown := timed{r.Time, moment{Kind: "write", Text: requestLine(r, out.callers[r.AuditID])}}
		switch {
		case uncounted(r.Resource):
			continue
		case r.Code >= 400:
			shown.Kind = "refused"
		case r.Revisions == 0:
			continue
		}
		moments = append(moments, shown)
	}
	slices.SortStableFunc(moments, func(a, b timed) int { return a.time.Compare(b.time) })
	t := &timeline{Title: title}
	for _, shown := range moments {
		shown.moment.At = shown.time.Sub(out.began).Round(time.Millisecond).String()
		shown.moment.Text = printable.Text(shown.moment.Text)
		t.Moments = append(t.Moments, shown.moment)
	}
	return t
}

// timelines returns the timelines of a finding: that of the trial with which it is compared, if any, and that
// of its own trial.
func (e *operatorExploration) timelines(tr trial, out *outcome, p problem) (shown []*timeline) {
	for _, c := range out.checkpoints {
		if p.compared && c.step == p.step {
			r := e.reference(tr, c)
			shown = append(shown, e.timelineOf("Expected", r.trial, r.out))
		}
	}
	return append(shown, e.timelineOf("Actual", tr, out))
}

// WritePage writes an HTML page about the finding: its report, and side by side the timelines of the expected
// and of the failed run, with times since the start of the operator. The page needs no other file. It fails
// if the writer fails. [Operator] and [Upgrade] write it to the folder of the environment variable
// FAKECLUSTER_REPORT.
func (f Finding) WritePage(w io.Writer) error {
	if err := findingPage.Execute(w, map[string]any{
		"Title": fmt.Sprintf("%s: the operator %s", f.Oracle, f.Oracle.claim()), "What": printable.Text(f.What), "Report": f.Report, "Timelines": f.timelines,
	}); err != nil {
		return fmt.Errorf("the page of a finding: %w", err)
	}
	return nil
}

var findingPage = template.Must(template.New("finding").Parse(`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{.Title}}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em; color-scheme: light dark }
pre, td { font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
main { display: grid; grid-auto-flow: column; grid-auto-columns: 1fr; gap: 2em }
td { vertical-align: top; padding: 0 .8em 0 0 }
.step { font-weight: bold } .refused { color: #d33 }
</style>
<h1>{{.Title}}</h1>
<p>{{.What}}</p>
<main>
{{- range .Timelines}}
<section>
<h2>{{.Title}}</h2>
<table>
{{- range .Moments}}
<tr class="{{.Kind}}"><td>{{.At}}</td><td>{{.Text}}</td></tr>
{{- end}}
</table>
</section>
{{- end}}
</main>
<h2>Report</h2>
<pre>{{.Report}}</pre>
</html>
`))
