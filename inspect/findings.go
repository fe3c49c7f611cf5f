package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/internal/printable"
)

// Findings are possible reasons why a test failed: rejected requests, conflicts, panics, objects that are
// written endlessly, and the like.
type Findings struct {
	// Summary is a sentence with the number of requests. Without requests and panics, the Findings and their
	// Summary are empty.
	Summary string `json:"summary,omitempty"`
	// Sections are the findings by category, the most informative one first.
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

// Lines returns the findings as at most 60 lines of text, without line ends. It returns nil for empty
// Findings.
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
