package player

import (
	"fmt"
	"io"
	"strings"

	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Failure is the failure of a scenario: its place, its step and its reason.
type Failure struct {
	syntax.Position
	// Step names the step, for example "step 3 (a stale update)" or "setup 1". It is
	// empty if the cluster itself failed.
	Step string
	// Verb and Object are the verb of the step and its object.
	Verb, Object string
	// Message is the reason. Diff is the difference between the expected and the
	// real answer (-want +got), if there is one.
	Message, Diff string
	// Meanwhile lists the changes while the step waited, if it waited. Log has the lines that the scenario
	// wrote to its log before the failure.
	Meanwhile string
	Log       []string

	// Mismatch is the answer that is not as expected, or nil for other failures.
	Mismatch *Mismatch
	// skipReason: the cluster cannot play the scenario, for this reason.
	skipReason string
	// mayHaveChanged: the step may have changed something.
	mayHaveChanged bool
}

// Mismatch is an answer that is not as expected, with its step.
type Mismatch struct {
	Step    syntax.Step
	Got     Answer
	Answers map[string]Answer
}

// String returns the failure as the log shows it: a line that begins with FILE:LINE, and the
// difference below, indented.
func (f *Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", f.Position)
	if f.Step != "" {
		fmt.Fprintf(&b, "%s: ", f.Step)
	}
	if f.Verb != "" {
		fmt.Fprintf(&b, "%s: ", strings.TrimSpace(f.Verb+" "+f.Object))
	}
	b.WriteString(f.Message)
	if f.Diff != "" {
		b.WriteString(" (-want +got):\n")
		b.WriteString(indent(strings.TrimRight(f.Diff, "\n")))
	}
	if f.Meanwhile != "" {
		b.WriteString("\n" + indent(f.Meanwhile))
	}
	if len(f.Log) > 0 {
		b.WriteString("\n" + indent("the log of the scenario:\n"+strings.Join(f.Log, "\n")))
	}
	return printable.Text(b.String())
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// Reporter writes the log of scenarios: a line for each, and below it the failure if it failed.
// It is not safe for concurrent use; PlayAll calls its report from one goroutine.
//
//	ok    crontab/walkthrough.yaml:1: The walkthrough of the documents (0.012s)
//	FAIL  crontab/conflict.yaml:1: A stale update is refused (0.009s)
//	    crontab/conflict.yaml:31: step 4: update crontabs.stable.example.com default/a: …
//	skip  jobs/ttl.yaml:1: A Job ends after an hour: advance and settle need virtual time, which this cluster does not have
type Reporter struct {
	// Quiet leaves out the lines of scenarios that passed or were skipped.
	Quiet bool
	// Verbose shows what scenarios that passed have written to their log.
	Verbose bool
	// Progress is the number of scenarios. If it is not 0, a line for terminals shows the progress in place of the lines
	// that Quiet leaves out.
	Progress int

	w                       io.Writer
	passed, failed, skipped int
}

// NewReporter returns a Reporter that writes to w.
func NewReporter(w io.Writer) *Reporter { return &Reporter{w: w} }

// Report writes the lines of one result.
func (r *Reporter) Report(result Result) {
	r.clear()
	defer r.progress()
	s := result.Scenario
	verdict := "ok  "
	switch {
	case result.Failure != nil:
		verdict = "FAIL"
		r.failed++
	case result.Skipped != "":
		r.skipped++
		if r.Quiet || r.Progress > 0 {
			return
		}
		fmt.Fprintf(r.w, "skip  %s: %s: %s\n", s.Position, s.Title(), result.Skipped)
		return
	default:
		r.passed++
		if (r.Quiet || r.Progress > 0) && !r.Verbose {
			return
		}
	}
	fmt.Fprintf(r.w, "%s  %s: %s (%.3fs)\n", verdict, s.Position, s.Title(), result.Elapsed.Seconds())
	if result.Failure != nil {
		for _, text := range append([]string{result.Failure.String()}, result.Explained...) {
			fmt.Fprintln(r.w, indent(text))
		}
	} else if r.Verbose && len(result.Log) > 0 {
		fmt.Fprintln(r.w, indent(strings.Join(result.Log, "\n")))
	}
}

// clear erases the progress line, and progress writes it again.
func (r *Reporter) clear() {
	if r.Progress > 0 {
		fmt.Fprint(r.w, "\r\x1b[K")
	}
}

func (r *Reporter) progress() {
	if done := r.passed + r.failed + r.skipped; r.Progress > 0 && done < r.Progress {
		fmt.Fprintf(r.w, "%d of %d played, %d failed", done, r.Progress, r.failed)
	}
}

// Summary writes a line "N passed, M failed", with ", K skipped" if K is not 0, and reports whether no scenario failed.
// Programs may parse the line. Each case counts as a scenario.
func (r *Reporter) Summary() bool {
	fmt.Fprintf(r.w, "%d passed, %d failed", r.passed, r.failed)
	if r.skipped > 0 {
		fmt.Fprintf(r.w, ", %d skipped", r.skipped)
	}
	fmt.Fprintln(r.w)
	return r.failed == 0
}
