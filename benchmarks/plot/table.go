package main

import (
	"fmt"
	"os"
	"strings"
)

// detailed is the kind of which docs/performance.md shows the times.
const detailed = "Certificate"

// tables returns the tables of docs/performance.md, in Markdown.
func (r *results) tables() string {
	var text strings.Builder
	if r.run != "" {
		text.WriteString("Measured " + r.run + ".\n\n")
	}
	text.WriteString("| × the floor, HTTP / in process | budget | " + strings.Join(r.kinds, " | ") + " |\n")
	text.WriteString(strings.Repeat("|---", len(r.kinds)+2) + "|\n")
	for _, operation := range r.operations {
		row := rowOf(operation)
		fmt.Fprintf(&text, "| %s | %s |", row.title, row.shown())
		for _, kind := range r.kinds {
			var cells []string
			for i, way := range ways {
				x := r.timesFloor(lifeCase{kind, operation, way})
				cell := fmt.Sprintf("%.1f", x)
				if row.hasBudget() && x > row.limit(kind, i) {
					cell = "**" + cell + "**"
				}
				cells = append(cells, cell)
			}
			text.WriteString(" " + strings.Join(cells, " / ") + " |")
		}
		text.WriteString("\n")
	}

	fmt.Fprintf(&text, "\n| %s | HTTP | its floor | in process | its floor | the cluster allocates |\n", detailed)
	text.WriteString("|---|---|---|---|---|---|\n")
	for _, operation := range r.operations {
		fmt.Fprintf(&text, "| %s |", rowOf(operation).title)
		for _, way := range ways {
			f := r.life[lifeCase{detailed, operation, way}]
			fmt.Fprintf(&text, " %s | %s |", duration(f["ns/op"]), duration(f["floor-ns/op"]))
		}
		f := r.life[lifeCase{detailed, operation, "in-process"}]
		fmt.Fprintf(&text, " %.0f KB in %.0f |\n", f["cluster-B/op"]/1000, f["cluster-allocs/op"])
	}

	if len(r.peers) > 0 {
		text.WriteString("\n| one pass of a controller | time |\n|---|---|\n")
		for _, peer := range r.peers {
			fmt.Fprintf(&text, "| %s | %s |\n", strings.NewReplacer("-fake", "'s fake client", "-in-process", ", in process").Replace(peer), duration(r.reconcile[peer]["ns/op"]))
		}
	}
	return text.String()
}

func (r row) shown() string {
	if !r.hasBudget() {
		return "–"
	}
	shown := fmt.Sprintf("%.1f / %.1f", r.atMost[0], r.atMost[1])
	if r.ofBuiltIn != r.atMost {
		shown += fmt.Sprintf("; built-in %.1f / %.1f", r.ofBuiltIn[0], r.ofBuiltIn[1])
	}
	return shown
}

// duration formats a number of nanoseconds for readers.
func duration(ns float64) string {
	if ns >= 10e6 {
		return fmt.Sprintf("%.0f ms", ns/1e6)
	}
	return fmt.Sprintf("%.0f µs", ns/1e3)
}

// The markers around the tables.
const (
	begins = "<!-- Written by go run ./plot in the folder benchmarks. -->\n"
	ends   = "<!-- Here ends what go run ./plot has written. -->\n"
)

// replaceBetweenMarkers replaces what is between the markers in a file.
func replaceBetweenMarkers(path, with string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begins)
	_, after, closed := strings.Cut(rest, ends)
	if !found || !closed {
		return fmt.Errorf("%s has no markers for the tables: %q and %q", path, begins, ends)
	}
	return os.WriteFile(path, []byte(before+begins+with+ends+after), 0o644)
}
