// Code generated from inspect/findings.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/remote/internal/printable"
)

// Findings are what may be the reason why a test failed: requests that were refused, conflicts,
// panics, objects that changed without end, and the like.
type Findings struct {
	// Summary says how many requests there were. If there were no requests and no panics, the
	// Findings are empty, and so is the Summary.
	Summary string `json:"summary,omitempty"`
	// Sections are the findings, one for each sort of trouble, the most informative first.
	Sections []Finding `json:"sections,omitempty"`
}

// Finding is one category of possible reasons, such as conflicts.
type Finding struct {
	Title string   `json:"title"`          // such as "refused:"
	Lines []string `json:"lines"`          // the newest first
	More  int      `json:"more,omitempty"` // how many lines were left out
}

// maxFindingLines is how many lines Lines returns at most.
const maxFindingLines = 60

// Lines returns the findings as at most 60 lines of text, without line ends. There are none if
// there are no findings.
func (f Findings) Lines() []string {
	if f.Summary == "" {
		return nil
	}
	out := []string{f.Summary}
	for _, s := range f.Sections {
		out = append(out, "  "+s.Title)
		for _, line := range s.Lines {
			out = append(out, "    "+line)
		}
		if s.More > 0 {
			out = append(out, fmt.Sprintf("    … and %d more", s.More))
		}
	}
	if len(out) > maxFindingLines {
		out = append(out[:maxFindingLines-1], "  …")
	}
	for i, line := range out {
		out[i] = printable.Text(line)
	}
	return out
}

// String returns the Lines as one text.
func (f Findings) String() string { return strings.Join(f.Lines(), "\n") }

// Panic is a panic of a handler of the test, such as that of a webhook, or of a controller.
type Panic struct {
	Time    time.Time // by the clock of the cluster
	Handler string    // what panicked, such as the service and the path of a webhook
	What    string    // the value of the panic, and where it was
}
