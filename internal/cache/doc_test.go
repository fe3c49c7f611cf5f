package cache_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheDocumentationListsEachCache compares the table in doc.go with the package variables
// of the module.
func TestTheDocumentationListsEachCache(t *testing.T) {
	variable := regexp.MustCompile(`(?m)^(?:var |\t)(\w+) += cache\.New\[`)
	root := filepath.Join("..", "..")
	var declared []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		in, err := filepath.Rel(root, filepath.Dir(path))
		for _, m := range variable.FindAllSubmatch(text, -1) {
			declared = append(declared, filepath.ToSlash(in)+" "+string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "limit\n")
	table, _, _ = strings.Cut(table, "\n//\n")
	var listed []string
	for line := range strings.Lines(table) {
		columns := strings.Fields(line)
		listed = append(listed, columns[1]+" "+columns[2])
	}

	slices.Sort(declared)
	if diff := cmp.Diff(declared, listed); diff != "" {
		t.Errorf("the caches of doc.go (-declared +listed):\n%s", diff)
	}
}
