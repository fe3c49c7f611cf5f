package programs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/release"
)

// The versions are those of the module in which nothing but the programs stands.
func TestVersions(t *testing.T) {
	got, err := versions(t.Context(), "../modules")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"k8s.io/kubernetes": release.Libraries, "go.etcd.io/etcd/server/v3": "v3.7.0"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := versions(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder without a module has versions")
	}
}

func TestLinkerFlags(t *testing.T) {
	want := "-s -w" +
		" -X k8s.io/component-base/version.gitVersion=v1.37.1 -X k8s.io/component-base/version.gitMajor=1" +
		" -X k8s.io/component-base/version.gitMinor=37 -X k8s.io/component-base/version.gitTreeState=clean" +
		" -X k8s.io/client-go/pkg/version.gitVersion=v1.37.1 -X k8s.io/client-go/pkg/version.gitMajor=1" +
		" -X k8s.io/client-go/pkg/version.gitMinor=37 -X k8s.io/client-go/pkg/version.gitTreeState=clean"
	if d := cmp.Diff(want, LinkerFlags("v1.37.1")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
