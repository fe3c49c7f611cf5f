package kubectl

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A session is a transcript of a terminal, in sections:
//
//	== label
//
//	# Prose.
//	$ kubectl label crontab my-crontab tier=gold
//	crontab.stable.example.com/my-crontab labeled
//
//	$ kubectl label crontab nobody tier=gold
//	2> Error from server (NotFound): crontabs.stable.example.com "nobody" not found
//	exit 1
//
// Behind the name of a section may stand flags of its server, as in "== legacy
// --legacy-apis". With the flag --images it is the cluster of the e2e suite, in which containers are Go functions.
//
// Each section has a server of its own and each command stands on its own: beneath it
// is all that it prints on stdout, then each line of stderr behind "2> ", then its
// exit status unless that is 0. Blank lines at the end do not count; what differs from
// run to run is masked (see mask). A command runs in a shell, in a copy of testdata.
//
// A command that ends in & goes on in the background; beneath it are the lines that it
// prints before the next command begins. Two steps end it:
//
//	$ fg
//
// waits until it ends, and
//
//	$ interrupt
//
// sends it SIGINT as soon as it has printed the lines beneath.
//
// A line behind "~ " says why a real server that is played with this session may say something
// else, such as that its policies act a second later.
//
// "?" beneath a command stands for an outcome that is not written down yet: an
// update writes what the command did. It changes no other outcome, because what a real
// kubectl prints to a real server does not depend on us.
type session struct {
	lines    []string
	sections []*section
}

type section struct {
	name  string
	flags []string // of fakecluster serve
	steps []*step
}

// step is a command and what is expected of it.
type step struct {
	line    int // the command's
	end     int // the line behind its outcome
	command string
	want    outcome
}

// outcome is what a command did.
type outcome struct {
	stdout, stderr []string
	exit           int
	elsewhere      string // why a real server may say something else
	unknown        bool   // a "?" stands for it
}

const (
	foreground = "fg"
	interrupt  = "interrupt"
)

// inBackground returns the command line of a step that goes on in the background.
func (s *step) inBackground() (command string, ok bool) { return strings.CutSuffix(s.command, " &") }

// String returns the outcome as it stands in a session.
func (o outcome) String() string {
	var b strings.Builder
	for _, line := range o.stdout {
		b.WriteString(line + "\n")
	}
	for _, line := range o.stderr {
		b.WriteString(strings.TrimRight("2> "+line, " ") + "\n")
	}
	if o.exit != 0 {
		fmt.Fprintf(&b, "exit %d\n", o.exit)
	}
	return b.String()
}

// cutFlags takes the flags from behind a name.
func cutFlags(header string) (name string, flags []string) {
	words := strings.Fields(header)
	for i, word := range words {
		if strings.HasPrefix(word, "--") {
			return strings.Join(words[:i], " "), words[i:]
		}
	}
	return header, nil
}

// readSession reads a session. What stands before its first section is for readers.
func readSession(path string) (*session, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &session{lines: strings.Split(strings.TrimRight(string(content), "\n"), "\n")}
	var current *step // whose outcome the line belongs to
	for i, line := range s.lines {
		switch {
		case strings.HasPrefix(line, "== "):
			here := &section{}
			here.name, here.flags = cutFlags(line[3:])
			s.sections, current = append(s.sections, here), nil
		case len(s.sections) == 0 || strings.HasPrefix(line, "# "):
			current = nil
		case strings.HasPrefix(line, "$ "):
			current = &step{line: i, command: line[2:]}
			here := s.sections[len(s.sections)-1]
			here.steps = append(here.steps, current)
		case current != nil:
			if err := current.want.add(line); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
			}
		case line != "":
			return nil, fmt.Errorf("%s:%d: neither a command nor its outcome: %q", path, i+1, line)
		}
		if current != nil && (line != "" || i == current.line) {
			current.end = i + 1
		}
	}
	for _, section := range s.sections {
		for _, step := range section.steps {
			step.want.stdout = trimBlank(step.want.stdout)
		}
	}
	return s, nil
}

// add adds a line of a transcript.
func (o *outcome) add(line string) (err error) {
	if status, ok := strings.CutPrefix(line, "exit "); ok {
		o.exit, err = strconv.Atoi(status)
		return err
	}
	if why, ok := strings.CutPrefix(line, "~ "); ok {
		o.elsewhere = why
		return nil
	}
	switch said, ok := strings.CutPrefix(line, "2>"); {
	case line == "?":
		o.unknown = true
	case ok:
		o.stderr = append(o.stderr, strings.TrimPrefix(said, " "))
	default:
		o.stdout = append(o.stdout, line)
	}
	return nil
}

// trimBlank cuts blank lines off the end.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// fill writes the session with the outcomes that were unknown.
func (s *session) fill(path string, got map[*step]outcome) error {
	var b strings.Builder
	next := 0
	for _, section := range s.sections {
		for _, step := range section.steps {
			outcome, ran := got[step]
			if !step.want.unknown || !ran {
				continue
			}
			for _, line := range s.lines[next : step.line+1] {
				b.WriteString(line + "\n")
			}
			if step.want.elsewhere != "" {
				b.WriteString("~ " + step.want.elsewhere + "\n")
			}
			b.WriteString(outcome.String())
			next = step.end
		}
	}
	for _, line := range s.lines[next:] {
		b.WriteString(line + "\n")
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
