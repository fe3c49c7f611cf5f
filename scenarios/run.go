package scenarios

import (
	"path/filepath"
	"testing"
)

// Run plays the scenarios that pattern stands for, a file, a folder or a glob as
// [Load] takes them, each as a parallel subtest on a cluster of its own in this
// process. The subtests are named FILE/SCENARIO, so that "go test -run" finds them.
// A pattern without scenarios, and any mistake in one, fails the test at once.
func Run(t *testing.T, pattern string) {
	t.Helper()
	all, err := Load(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		t.Run(filepath.ToSlash(s.File)+"/"+s.Name, func(t *testing.T) {
			t.Parallel()
			if result := s.Play(t.Context(), InProcess); result.Failure != nil {
				t.Error(result.Failure)
			}
		})
	}
}
