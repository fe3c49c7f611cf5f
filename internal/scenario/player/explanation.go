package player

import (
	"fmt"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Explanation selects what the result of a failed scenario contains besides the failure; the zero value selects nothing.
// It has no effect for clusters outside of this process.
type Explanation struct {
	// Findings: what happened in the cluster, as the log of a failed test of fakecluster.Start shows it.
	Findings bool
	// Folder is where the HTML page of the cluster is written; empty: no page is written.
	Folder string
	// Title returns the title of the page of a scenario; nil: its file and its title.
	Title func(*syntax.Scenario) string
}

// textsOf returns the parts of the explanation of a failure.
func (e Explanation) textsOf(cluster Backend, result *Result) (texts []string) {
	c, ok := cluster.(interface {
		Findings() inspect.Findings
		ReportFailure(message string)
		WriteReport(folder, title string) (string, error)
	})
	if !ok {
		return nil
	}
	if e.Findings {
		if found := c.Findings(); found.Summary != "" {
			texts = append(texts, "fakecluster: "+found.String())
		}
	}
	if e.Folder == "" {
		return texts
	}
	c.ReportFailure(result.Failure.String())
	title := result.Scenario.File + ": " + result.Scenario.Title()
	if e.Title != nil {
		title = e.Title(result.Scenario)
	}
	path, err := c.WriteReport(e.Folder, title)
	if err != nil {
		return append(texts, fmt.Sprintf("fakecluster: the report cannot be written: %v", err))
	}
	return append(texts, "fakecluster: the report is in "+path)
}
