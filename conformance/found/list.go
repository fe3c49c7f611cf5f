package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// verdict is what a finding turned out to be.
type verdict string

const (
	defect     verdict = "defect"
	choice     verdict = "choice"
	falseAlarm verdict = "false alarm"
	open       verdict = "?" // nobody has looked at the finding yet
)

var verdicts = []verdict{defect, choice, falseAlarm, open}

// operator is what the exploration of an operator has found.
type operator struct {
	name, module, version string
	trials, rejected      int
	perSecond             float64
	findings              []finding
}

// finding is a finding of an exploration, and the verdict on it.
type finding struct {
	verdict  verdict
	oracle   string
	what     string
	trial    string
	evidence []string // lines
}

// A list is a text file with a paragraph for each operator and one for each of its findings:
//
//	LeaderWorkerSet sigs.k8s.io/lws v0.9.0: 180 trials, 20 rejected, 4 trials a second
//
//	defect: recovers: pods default/inference-0 does not exist
//	    leaderworkersets.x-k8s.io default/inference: create; delete-owned pods default/inference-0
//	    The controller … pkg/controllers/pod_controller.go:120, https://github.com/…
//
// The first line below a finding is its trial, the others are the evidence of the verdict. Lines that begin with # are comments.

const heading = "%s %s %s: %d trials, %d rejected, %f trials a second"

// readList reads a list.
func readList(path string) (operators []operator, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n := 0
	fail := func(format string, args ...any) ([]operator, error) {
		return nil, fmt.Errorf("%s:%d: %s", path, n, fmt.Sprintf(format, args...))
	}
	for line := range strings.Lines(string(content)) {
		n++
		line = strings.TrimRight(line, "\n")
		text, indented := strings.CutPrefix(line, "    ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case indented:
			f := lastFinding(operators)
			switch {
			case f == nil:
				return fail("the line belongs to no finding")
			case f.trial == "":
				f.trial = text
			default:
				f.evidence = append(f.evidence, text)
			}
		default:
			if f, ok := parseFinding(line); ok {
				if len(operators) == 0 {
					return fail("the finding belongs to no operator")
				}
				o := &operators[len(operators)-1]
				o.findings = append(o.findings, f)
				continue
			}
			o, ok := parseOperator(line)
			if !ok {
				return fail("a line is an operator, as in %q, or a finding, as in %q", "JobSet sigs.k8s.io/jobset v0.12.0: 180 trials, 20 rejected, 4 trials a second", "defect: converges: the operator …")
			}
			operators = append(operators, o)
		}
	}
	return operators, nil
}

func lastFinding(operators []operator) *finding {
	if len(operators) == 0 || len(operators[len(operators)-1].findings) == 0 {
		return nil
	}
	findings := operators[len(operators)-1].findings
	return &findings[len(findings)-1]
}

func parseFinding(line string) (f finding, ok bool) {
	oracle, rest, _ := strings.Cut(line, ": ")
	f.verdict = verdict(oracle)
	f.oracle, f.what, ok = strings.Cut(rest, ": ")
	return f, ok && slices.Contains(verdicts, f.verdict)
}

func parseOperator(line string) (o operator, ok bool) {
	line = strings.Replace(line, ": ", " : ", 1) // Sscanf ends a word at a space
	_, err := fmt.Sscanf(line, strings.Replace(heading, ": ", " : ", 1), &o.name, &o.module, &o.version, &o.trials, &o.rejected, &o.perSecond)
	return o, err == nil
}

// text is the list as a file.
func text(operators []operator) string {
	var b strings.Builder
	for line := range strings.Lines(comment) {
		b.WriteString("# " + line)
	}
	for _, o := range operators {
		fmt.Fprintf(&b, "\n"+strings.Replace(heading, "%f", "%.2f", 1)+"\n", o.name, o.module, o.version, o.trials, o.rejected, o.perSecond)
		for _, f := range o.findings {
			fmt.Fprintf(&b, "\n%s: %s: %s\n    %s\n", f.verdict, f.oracle, f.what, f.trial)
			for _, line := range f.evidence {
				b.WriteString("    " + line + "\n")
			}
		}
	}
	return b.String()
}

const comment = `What explore finds in operators that others have written, with a verdict for each finding: a defect of the operator,
a choice of its authors, or a false alarm of explore. Below a finding stand its trial and the evidence.
Written by "go run ./found -update", except verdicts and evidence, which a finding keeps. A new one has the verdict "?".
`

// giveVerdicts gives the findings of a run the verdicts that the list has for them, and returns how the run differs from the list.
func giveVerdicts(listed []operator, got []operator) (differences []string) {
	for i := range got {
		o := &got[i]
		var former operator
		if i := slices.IndexFunc(listed, func(l operator) bool { return l.name == o.name }); i >= 0 {
			former = listed[i]
		}
		if former.module != o.module || former.version != o.version {
			differences = append(differences, fmt.Sprintf("%s is %s %s, and listed as %q", o.name, o.module, o.version, strings.TrimSpace(former.module+" "+former.version)))
		}
		for j := range o.findings {
			f := &o.findings[j]
			f.verdict = open
			if known := f.in(former.findings); known != nil {
				f.verdict, f.evidence = known.verdict, known.evidence
			} else {
				differences = append(differences, fmt.Sprintf("%s: %s: %s: not listed", o.name, f.oracle, f.what))
			}
		}
		for _, f := range former.findings {
			if f.in(o.findings) == nil {
				differences = append(differences, fmt.Sprintf("%s: %s: %s: listed, and not found", o.name, f.oracle, f.what))
			}
		}
	}
	return differences
}

// more is how many further differences a finding has, which depends on the trial that shows it first.
var more = regexp.MustCompile(`, and [0-9]+ differences? more$`)

// in returns the equal finding among others; nil: there is none.
func (f finding) in(others []finding) *finding {
	for i, o := range others {
		if o.oracle == f.oracle && more.ReplaceAllString(o.what, "") == more.ReplaceAllString(f.what, "") {
			return &others[i]
		}
	}
	return nil
}

// merge replaces operators of the list by those of a run.
func merge(listed, got []operator) []operator {
	merged := slices.Clone(listed)
	for _, o := range got {
		if i := slices.IndexFunc(merged, func(l operator) bool { return l.name == o.name }); i >= 0 {
			merged[i] = o
		} else {
			merged = append(merged, o)
		}
	}
	return merged
}

// table counts the findings of operators by verdict.
func table(operators []operator) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| operator | version | trials | trials a second | defects | choices | false alarms |\n|---|---|---|---|---|---|---|\n")
	for _, o := range operators {
		count := map[verdict]int{}
		for _, f := range o.findings {
			count[f.verdict]++
		}
		fmt.Fprintf(&b, "| %s | %s %s | %d | %.2f | %d | %d | %d |\n", o.name, o.module, o.version, o.trials, o.perSecond, count[defect], count[choice], count[falseAlarm])
	}
	return b.String()
}
