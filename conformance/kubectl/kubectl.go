// Package kubectl runs the real kubectl against `fakecluster serve`, by a scripted
// session that holds, for each command, what a real server makes it print.
package kubectl

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "kubectl.txt",
	Comment: `The commands of kubectl/session.txt, and whether they print what that says.
Written by "go run . -only kubectl -update".`,
}

// Whole is the session of kubectl.
func Whole() Session {
	return Session{Path: "kubectl/session.txt", Folder: "kubectl/testdata", Further: []string{"./e2e/cluster"}}
}

// A Session is a file of commands and what they print. Paths are seen from the folder
// conformance.
type Session struct {
	Path string
	// Folder is copied for the commands to work in. If it has a folder crds, the server begins
	// with the definitions in that.
	Folder string
	// Real is the folder of the real server's programs, to play the session on those; "" plays it on
	// fakecluster.
	Real string
	// Further are packages of commands that the session runs beside kubectl.
	Further []string
	// Build returns the path of one more program that the session runs; nil: there is none.
	Build func(context.Context) (string, error)
}

// SectionMatches says whether the result with a name is of a section whose name matches.
func SectionMatches(sections *regexp.Regexp, result string) bool {
	section, _, _ := strings.Cut(result, sectionEnd)
	return sections.MatchString(section)
}

// sectionEnd stands between the name of a section and the command in the name of a result.
const sectionEnd = ": "

// Run plays those sections of the session whose names match, and prints how each failing command differs from it. An update
// fills in the outcomes that the session does not know. A regular expression that matches no section is an error.
func (s Session) Run(ctx context.Context, w io.Writer, sections *regexp.Regexp, update bool) ([]verdict.Result, error) {
	session, err := readSession(s.Path)
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(session.sections), func(s *section) bool { return !sections.MatchString(s.name) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no section of %s matches %q", s.Path, sections)
	}
	programs, err := s.build(ctx)
	if err != nil {
		return nil, err
	}
	defer programs.remove()
	played, err := programs.playAll(ctx, chosen)
	if err != nil {
		return nil, err
	}
	var results []verdict.Result
	outcomes := map[*step]outcome{}
	names := map[string]int{}
	for n, section := range chosen {
		if played[n].skipped != "" {
			results = append(results, verdict.Result{Name: section.name, Verdict: verdict.NotApplicable, Reason: played[n].skipped})
			continue
		}
		got := played[n].got
		behind := ""
		for i, step := range section.steps {
			outcomes[step] = got[step]
			if update && step.want.unknown {
				step.want = got[step]
				step.want.unknown = true // for fill, which writes it
			}
			result := compare(w, s.Path, step, got[step])
			if s.Real != "" && result.Verdict == verdict.Fail && step.want.elsewhere != "" {
				result.Verdict, result.Reason = verdict.NotApplicable, step.want.elsewhere
			}
			if command, inBackground := step.inBackground(); inBackground {
				behind = command
			} else if step.command == foreground || step.command == interrupt {
				result.Name += " (" + behind + ")"
			}
			result.Name = section.name + sectionEnd + result.Name
			if names[result.Name]++; names[result.Name] > 1 {
				result.Name += fmt.Sprintf(" (%d)", names[result.Name])
			}
			if i == len(section.steps)-1 {
				result.Time = played[n].took // of the section
			}
			results = append(results, result)
		}
	}
	if update {
		if err := session.fill(s.Path, outcomes); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// compare compares what a command did with what it should do.
func compare(w io.Writer, path string, s *step, got outcome) verdict.Result {
	result := verdict.Result{Name: s.command, Verdict: verdict.Pass}
	diff := cmp.Diff(s.want.String(), got.String())
	if diff == "" {
		return result
	}
	result.Verdict, result.Reason = verdict.Fail, verdict.Reason(firstDifference(s.want, got))
	fmt.Fprintf(w, "%s:%d: %s (-want +got)\n%s\n", path, s.line+1, s.command, diff)
	return result
}

// firstDifference says in a line where an outcome differs: by what it says on stderr,
// if it does there, for that is most often why.
func firstDifference(want, got outcome) string {
	lines := func(o outcome) []string { return append(append([]string{}, o.stderr...), o.stdout...) }
	if len(got.stderr) > 0 && strings.Join(got.stderr, "\n") != strings.Join(want.stderr, "\n") {
		return "says " + got.stderr[0]
	}
	wanted := lines(want)
	for i, line := range lines(got) {
		if i >= len(wanted) {
			return "says too much: " + line
		}
		if line != wanted[i] {
			return "says " + line
		}
	}
	if len(wanted) > len(lines(got)) {
		return "does not say " + wanted[len(lines(got))]
	}
	return fmt.Sprintf("exits with %d", got.exit)
}
