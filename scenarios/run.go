package scenarios

import (
	"path/filepath"
	"testing"
)

// Run plays the scenarios of a file, a folder or a glob pattern, as [Load] reads them. Each is a
// parallel subtest with a cluster of its own in this process. The subtests are named
// FILE/SCENARIO, for "go test -run". A pattern without scenarios, or a mistake in one of them,
// fails the test at once.
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
