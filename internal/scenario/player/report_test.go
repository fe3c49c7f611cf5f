package player

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files in testdata")

// separator stands in a golden file between what goes in and what comes out.
const separator = "=== the log\n"

// elapsed is what differs from one run to the next.
var elapsed = regexp.MustCompile(`\(\d+\.\d{3}s\)`)

// The log of scenarios that pass and fail. Each file of testdata/report is a scenario
// file, with the log of its playing below it.
func TestLog(t *testing.T) {
	files, err := filepath.Glob("testdata/report/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files: ", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			input, want, _ := strings.Cut(string(data), separator)
			file := syntax.Parse(filepath.Base(path), []byte(input))
			if err := file.Err(); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			reporter := NewReporter(&log)
			for _, s := range file.Scenarios {
				reporter.Report(Play(t.Context(), s, newStub().start))
			}
			passed := reporter.Summary()
			got := elapsed.ReplaceAllString(log.String(), "(0.000s)")
			if failed := strings.Contains(got, "FAIL"); passed == failed {
				t.Errorf("Summary() = %v", passed)
			}
			if *rewrite {
				if err := os.WriteFile(path, []byte(input+separator+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("log of %s (-want +got); if it is right, run with -update:\n%s", path, d)
			}
		})
	}
}
