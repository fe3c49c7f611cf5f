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

func TestFewPackagesAreCompiled(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "github.com/fakecluster/fakecluster/fakecluster").Output()
	if err != nil {
		t.Fatal(err)
	}
	others := 0
	for _, path := range strings.Fields(string(out)) {
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
