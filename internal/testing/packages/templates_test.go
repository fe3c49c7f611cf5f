package packages

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNoMethodIsCalledByItsName holds what lets the linker leave out methods: text/template calls methods by names that
// only the running program knows, so a binary that may execute a template keeps all exported methods of everything that it links.
// With the tag grpcnotrace, nothing that package fakecluster imports executes one: cobra and cel-go do it in functions that nobody
// here calls, and the page with templates in upstream's routes is not served. If there is another importer, look with
// -ldflags=-dumpdep whether "<ReflectMethod>" is printed for a test of ./faults before it is added.
func TestNoMethodIsCalledByItsName(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags=grpcnotrace", "-deps", "-f", "{{.ImportPath}} {{range .Imports}}{{.}} {{end}}",
		"github.com/fakecluster/fakecluster/fakecluster").Output()
	if err != nil {
		t.Fatal(err)
	}
	var importers []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if slices.Contains(fields[1:], "text/template") || slices.Contains(fields[1:], "html/template") {
			importers = append(importers, fields[0])
		}
	}
	slices.Sort(importers)
	want := []string{"github.com/google/cel-go/cel", "github.com/spf13/cobra", "html/template", "k8s.io/apiserver/pkg/server/routes"}
	if !slices.Equal(importers, want) {
		t.Errorf("packages that import templates:\n%s\nwant\n%s", strings.Join(importers, "\n"), strings.Join(want, "\n"))
	}
}
