package fakecluster_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestModulePathFindsFilesOfModules(t *testing.T) {
	path := fakecluster.ModulePath("k8s.io/apiextensions-apiserver", "artifacts/customresource-01/crd.yaml")
	if !filepath.IsAbs(path) || !strings.HasSuffix(path, filepath.Join("artifacts", "customresource-01", "crd.yaml")) {
		t.Fatal(path)
	}
	path = fakecluster.ModulePath("github.com/fakecluster/fakecluster", "scenarios/crontab/crontab-crd.yaml")
	fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths(path))
}

func TestModulePathOfAnotherModuleIsAnError(t *testing.T) {
	equal(t, "a module that is not required", refused(t, fakecluster.WithCRDPaths(fakecluster.ModulePath("example.com/none", "config"))),
		`CRD path: "example.com/none": the go.mod of the test does not require this module: run go get example.com/none`)
	equal(t, "not a module", refused(t, fakecluster.WithManifests(fakecluster.ModulePath("", "config"))),
		`manifest path: "": this is not the path of a module, such as sigs.k8s.io/gateway-api`)
}
