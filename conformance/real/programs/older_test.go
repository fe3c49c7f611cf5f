package programs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/release"
)

// The modules of the staging tree have the version of the release.
func TestModuleOfAnOlderRelease(t *testing.T) {
	published := `module k8s.io/kubernetes

go 1.25.0

require (
	github.com/go-logr/logr v1.4.3
	k8s.io/api v0.0.0
	k8s.io/utils v0.0.0-20251002143259-bc988d571ff4
)

replace k8s.io/api => ./staging/src/k8s.io/api
`
	want := `module github.com/fakecluster/fakecluster/conformance/real/older

go 1.25.0

require (
	k8s.io/kubernetes v1.35.4
	k8s.io/api v0.35.4
)
`
	got, err := moduleFor([]byte(published), "v1.35.4")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := moduleFor([]byte("go x"), "v1.35.4"); err == nil {
		t.Error("what is not a go.mod is read")
	}
}

func TestRelease(t *testing.T) {
	var versions []string
	for back := range uint(3) { // Kubernetes emulates three
		minor := release.Newest().SubtractMinor(3 - back).String()
		versions = append(versions, minor)
		if release, err := Release(minor); err != nil || !strings.HasPrefix(release, "v"+minor+".") {
			t.Errorf("%s: %q, %v", minor, release, err)
		}
	}
	if d := cmp.Diff(versions, OlderVersions()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want := `there is no older version "1.33": write one of ` + strings.Join(versions, ", ")
	if _, err := Release("1.33"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
