package scenarios

import (
	"fmt"
	"io"
	"strings"
)

// Failure says what did not go as the scenario says, and where.
type Failure struct {
	Position
	// Step is which step it was, with its name if it has one: "step 3 (a stale
	// update)" or "setup 1". Empty: it was the cluster itself.
	Step string
	// Verb and Object are what the step did, and to what.
	Verb, Object string
	// Message is what went wrong, and Diff, if an answer was not the expected one,
	// the difference (-want +got).
	Message, Diff string
}

// String is the failure as the log shows it: a line that begins with file:line, and
// the difference indented below.
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
	return b.String()
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// Reporter writes the log of scenarios as they end: one line for each, and below it
// the failure of one that failed.
//
//	ok    crontab/walkthrough.yaml:1: The walkthrough of the documents (0.012s)
//	FAIL  crontab/conflict.yaml:1: A stale update is refused (0.009s)
//	    crontab/conflict.yaml:31: step 4: update crontabs.stable.example.com default/a: …
type Reporter struct {
	w              io.Writer
	passed, failed int
}

// NewReporter returns a Reporter that writes to w.
func NewReporter(w io.Writer) *Reporter { return &Reporter{w: w} }

// Report writes one result.
func (r *Reporter) Report(result Result) {
	verdict := "ok  "
	if result.Failure != nil {
		verdict = "FAIL"
		r.failed++
	} else {
		r.passed++
	}
	s := result.Scenario
	fmt.Fprintf(r.w, "%s  %s: %s (%.3fs)\n", verdict, s.Position, s.Name, result.Elapsed.Seconds())
	if result.Failure != nil {
		fmt.Fprintln(r.w, indent(result.Failure.String()))
	}
}

// Summary writes how many passed and failed, alone on a line that programs may read,
// and returns whether none failed.
func (r *Reporter) Summary() bool {
	fmt.Fprintf(r.w, "%d passed, %d failed\n", r.passed, r.failed)
	return r.failed == 0
}
