package packages

import (
	"os/exec"
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
		t.Errorf("workloads adds %d packages of other modules, and may add %d", added, maxOfWorkloads)
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
		t.Errorf("fakecluster imports %d packages of other modules, and may import %d", others, maxPackages)
	}
}
