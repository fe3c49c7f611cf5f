package fakecluster_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsNameTestsOfPromises proves that each promise of docs/promises.md names a test, and that the test is in the package that the page says.
func TestDocsNameTestsOfPromises(t *testing.T) {
	row := regexp.MustCompile(`^\| (.*) \| (.*) \|$`)
	tests := regexp.MustCompile("((?:`(?:Test|Fuzz)\\w+`(?:, )?)+) in `([a-z/]+)`")
	promises := 0
	for line := range strings.Lines(page(t, "docs/promises.md")) {
		found := row.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil || found[1] == "promise" {
			continue
		}
		promises++
		named := tests.FindAllStringSubmatch(found[2], -1)
		if len(named) == 0 {
			t.Errorf("the promise %q names no test", found[1])
		}
		for _, tested := range named {
			files, err := filepath.Glob(filepath.Join(repository, filepath.FromSlash(tested[2]), "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			var code strings.Builder
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				code.Write(text)
			}
			for name := range strings.SplitSeq(tested[1], ", ") {
				if name = strings.Trim(name, "`"); !strings.Contains(code.String(), "\nfunc "+name+"(") {
					t.Errorf("the package %s does not have the test %s", tested[2], name)
				}
			}
		}
	}
	if promises < 15 {
		t.Errorf("the page has %d promises", promises)
	}
}
