package verdict

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// A list is a text file with a line for each test:
//
//	pass  TestTable
//	fail  TestScale  # the server could not find the requested resource
//	n/a   TestEtcd   # reads etcd
//
// Lines that begin with # are comments.

// reasonMark stands between a test and the reason for its verdict.
const reasonMark = "  # "

// ReadList reads a list.
func ReadList(path string) ([]Result, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var list []Result
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		entry, reason, _ := strings.Cut(line, reasonMark)
		verdict, name, _ := strings.Cut(entry, " ")
		r := Result{Name: strings.TrimSpace(name), Verdict: Verdict(verdict), Reason: reason}
		switch r.Verdict {
		case Pass, Fail, NotApplicable:
		default:
			return nil, fmt.Errorf("%s:%d: a line begins with pass, fail or n/a, not %q", path, n, verdict)
		}
		list = append(list, r)
	}
	return list, lines.Err()
}

// WriteList writes results as a list, in the order given, beneath a comment.
func WriteList(path, comment string, results []Result) error {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(comment)) {
		fmt.Fprintf(&b, "# %s\n", strings.TrimSpace(line))
	}
	b.WriteString("\n")
	for _, r := range results {
		fmt.Fprintf(&b, "%-4s  %s", r.Verdict, r.Name)
		if r.Reason != "" {
			b.WriteString(reasonMark + r.Reason)
		}
		b.WriteString("\n")
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
