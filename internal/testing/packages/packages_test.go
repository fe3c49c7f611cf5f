package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxPackages is how many packages of other modules a test compiles that imports fakecluster. Each
// one costs all users time when they compile from an empty cache, and most cost time at each link:
// import a package for what it does, and write the few lines that are needed of a large one.
// benchmarks/weight measures what they cost.
const maxPackages = 1566

// unwanted are folders of packages that belong to other programs than an API server. They would
// bring hundreds of others.
var unwanted = []string{
	"go.etcd.io/etcd/server/",
	"k8s.io/apiserver/pkg/server/options/",
	"k8s.io/kubernetes/cmd/",
	"k8s.io/kubernetes/pkg/controller/",
	"k8s.io/kubernetes/pkg/kubeapiserver/options/",
	"k8s.io/kubernetes/pkg/kubelet/",
	"k8s.io/kubernetes/pkg/scheduler/",
	"k8s.io/kubernetes/pkg/volume/util/",
	"sigs.k8s.io/controller-runtime/",
}

// unavoidable are packages in these folders that Kubernetes' own strategies, validation and admission
// plugins import.
var unavoidable = []string{
	"k8s.io/apiserver/pkg/server/options/authorizationconfig/metrics",
	"k8s.io/kubernetes/pkg/controller",
	"k8s.io/kubernetes/pkg/controller/endpoint",
	"k8s.io/kubernetes/pkg/controller/endpointslice",
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring",
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring/metrics",
	"k8s.io/kubernetes/pkg/controller/util/endpointslice",
	"k8s.io/kubernetes/pkg/kubelet/client",
	"k8s.io/kubernetes/pkg/scheduler/util",
}

// maxOfWorkloads is how many packages of other modules package workloads adds to those of fakecluster and
// client-go.
const maxOfWorkloads = 250

func TestWorkloadsAddFewPackages(t *testing.T) {
	without := dependencies(t, "github.com/fakecluster/fakecluster/fakecluster", "k8s.io/client-go/kubernetes", "k8s.io/client-go/informers")
	added := 0
	for _, path := range dependencies(t, "github.com/fakecluster/fakecluster/workloads") {
		if !slices.Contains(without, path) && !strings.HasPrefix(path, "github.com/fakecluster/fakecluster/") {
			added++
		}
	}
	if added > maxOfWorkloads {
		t.Errorf("workloads adds %d packages of other modules, and may add %d: do without the new ones, which go list -deps ./workloads shows beside "+
			"its output before the change, or raise maxOfWorkloads and name what they are for in the commit", added, maxOfWorkloads)
	}
}

// TestScenariosAreLight proves that a test with scenario files compiles neither Kubernetes' controllers nor kustomize.
func TestScenariosAreLight(t *testing.T) {
	imported := dependencies(t, module+"scenarios")
	for _, path := range []string{module + "workloads", module + "kustomize"} {
		if slices.Contains(imported, path) {
			t.Errorf("scenarios imports %s", path)
		}
	}
}

// dependencies returns the packages outside of the standard library that packages import, and themselves.
func dependencies(t *testing.T, packages ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}"}, packages...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

func TestFewPackagesAreCompiled(t *testing.T) {
	others := 0
	for _, path := range dependencies(t, "github.com/fakecluster/fakecluster/fakecluster") {
		if strings.HasPrefix(path, "github.com/fakecluster/fakecluster/") {
			continue
		}
		others++
		if slices.Contains(unavoidable, path) {
			continue
		}
		for _, folder := range unwanted {
			if strings.HasPrefix(path+"/", folder) {
				t.Errorf("fakecluster imports %s; go list -deps -f '{{.ImportPath}} {{.Imports}}' ./fakecluster shows how", path)
			}
		}
	}
	if others > maxPackages {
		t.Errorf("fakecluster imports %d packages of other modules, and may import %d: do without the new ones, which go list -deps ./fakecluster shows beside "+
			"its output before the change, or raise maxPackages and name what they are for in the commit", others, maxPackages)
	}
}

// module is what the import paths of this module's packages begin with.
const module = "github.com/fakecluster/fakecluster/"

// layers are folders of this module, the highest first: a package imports packages of its own layer and of
// lower ones. CONTRIBUTING shows them. A package belongs to the layer with the longest folder.
var layers = [][]string{
	{"cmd"},
	{"scenarios"},
	{"internal/host", "internal/scenario"},
	{"explore", "internal/description", "workloads"},
	{"fakecluster"},
	{"internal/serverflags"},
	{"clientgo", "kustomize", "rest"},
	{"internal"},
	{"faults", "inspect", "store"},
	{"internal/bubble", "internal/printable"},
}

// layerOf returns the index of the layer of a package, which is -1 if there is none.
func layerOf(path string) int {
	layer, longest := -1, ""
	for i, folders := range layers {
		for _, folder := range folders {
			if strings.HasPrefix(path+"/", folder+"/") && len(folder) > len(longest) {
				layer, longest = i, folder
			}
		}
	}
	return layer
}

// packagesOf returns the packages of this module that have code, each with what it imports. The paths are relative
// to the module.
func packagesOf(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{if .GoFiles}}{{.ImportPath}} {{join .Imports \" \"}}{{end}}", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		path := strings.TrimPrefix(fields[0], module)
		imports[path] = nil
		for _, imported := range fields[1:] {
			if ours, ok := strings.CutPrefix(imported, module); ok {
				imports[path] = append(imports[path], ours)
			}
		}
	}
	return imports
}

func TestImportsPointDown(t *testing.T) {
	for path, imports := range packagesOf(t) {
		layer := layerOf(path)
		if layer < 0 {
			t.Errorf("%s is in no layer", path)
		}
		for _, imported := range imports {
			if layerOf(imported) < layer {
				t.Errorf("%s imports %s, which is in a higher layer", path, imported)
			}
		}
	}
}

func TestContributingHasARowForEachPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	_, tables, _ := strings.Cut(string(text), "## Where things are")
	tables, _, _ = strings.Cut(tables, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(tables, -1) {
		rows[row[1]] = true
	}
	packages := packagesOf(t)
	for path := range packages {
		if !rows[path] {
			t.Errorf("CONTRIBUTING.md has no row for %s", path)
		}
	}
	for path := range rows {
		if _, ok := packages[path]; !ok && path != "controllerruntime" && path != "remote" { // modules of their own
			t.Errorf("CONTRIBUTING.md has a row for %s, which does not exist", path)
		}
	}
}
