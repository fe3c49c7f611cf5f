package fakecluster_test

import (
	"flag"
	"os"
	"testing"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares a text with a file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		must(t, os.WriteFile(path, []byte(got+"\n"), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	equal(t, path, got+"\n", string(want))
}
