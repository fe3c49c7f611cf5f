package verdict

import (
	"fmt"
	"io"
	"time"
)

// Table prints a line for each result, and how many there are of each verdict.
func Table(w io.Writer, results []Result) {
	count := map[Verdict]int{}
	for _, r := range results {
		count[r.Verdict]++
		took := ""
		if r.Time > 0 {
			took = fmt.Sprintf("%.2fs", r.Time.Seconds())
		}
		fmt.Fprintf(w, "%-4s %7s  %s\n", r.Verdict, took, r.Name)
		if r.Reason != "" {
			fmt.Fprintf(w, "%14s%s\n", "", r.Reason)
		}
	}
	fmt.Fprintf(w, "%d: %d pass, %d fail, %d not applicable\n",
		len(results), count[Pass], count[Fail], count[NotApplicable])
}

// Round rounds a duration for display.
func Round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
