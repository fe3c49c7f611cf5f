package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// TestEveryControllerHasItsPlace proves that each controller of kube-controller-manager runs here, acts within the write, or is missing
// for a reason. namespace-controller alone is both: when it runs here, that of fakecluster does not act.
func TestEveryControllerHasItsPlace(t *testing.T) {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "cmd/kube-controller-manager/names/controller_names.go"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	_, limits, _ := strings.Cut(string(page), "\n## Limits\n")
	within := fakecluster.AllControllers()
	others := map[string]string{}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ += "([a-z-]+)"$`).FindAllStringSubmatch(string(source), -1) {
		name := m[1]
		var found []string
		if slices.Contains(Names(), name) {
			found = append(found, "table.go")
		}
		if slices.Contains(within, fakecluster.Controller(name)) {
			found = append(found, "internal/controller")
		}
		if Missing[name] != "" {
			found = append(found, "Missing")
			if !strings.Contains(limits, "`"+name+"`") {
				t.Errorf("the section Limits of docs/workloads.md does not name %s", name)
			}
		}
		names = append(names, name)
		if len(found) != 1 {
			others[name] = strings.Join(found, " and ")
		}
	}
	if diff := cmp.Diff(map[string]string{"namespace-controller": "table.go and internal/controller"}, others); diff != "" {
		t.Errorf("controllers in no place or in several: each belongs into table.go, with a reason into Missing there, or into internal/controller (-want +got):\n%s", diff)
	}
	for name := range Missing {
		if !slices.Contains(names, name) {
			t.Errorf("kube-controller-manager does not have %s; remove it from Missing and from docs/workloads.md", name)
		}
	}
}
