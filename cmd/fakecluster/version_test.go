package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/release"
)

// The command prints what a bug report needs, for people and for programs.
func TestVersionCommand(t *testing.T) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	version := thisBuild().Version // go test records none, and -buildvcs=true does
	want := build{
		Version: version, Commit: thisBuild().Commit, Modified: thisBuild().Modified, Go: runtime.Version(), Platform: platform,
		Kubernetes: release.Libraries, BehavesAs: release.Names(),
	}
	var stdout, stderr bytes.Buffer
	status := execute(t.Context(), []string{"version", "--output", "json"}, &stdout, &stderr)
	var got build
	if err := json.Unmarshal(stdout.Bytes(), &got); status != succeeded || err != nil || stderr.Len() > 0 {
		t.Fatalf("status %d, %v, stdout %q, stderr %q", status, err, &stdout, &stderr)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("as JSON (-want +got):\n%s", diff)
	}

	stdout.Reset()
	status = execute(t.Context(), []string{"version", "-o", "yaml"}, &stdout, &stderr)
	if want := "fakecluster: version: --output: \"yaml\" is not a format: write json, or leave the flag out\n"; status != wrongUsage || stdout.Len() > 0 || stderr.String() != want {
		t.Errorf("status %d, stdout %q, stderr %q, want %q", status, &stdout, &stderr, want)
	}
}

// A line for each fact; a program that was built by "go install" has no commit.
func TestVersionsForPeople(t *testing.T) {
	b := build{Version: "v0.1.0", Go: "go1.26.0", Platform: "linux/amd64", Kubernetes: "v1.37.1", BehavesAs: []string{"1.35", "1.36", "1.37"}}
	for _, test := range []struct {
		commit   string
		modified bool
		want     string
	}{
		{"", false, "not recorded"},
		{"abc", false, "abc"},
		{"abc", true, "abc, with changes"},
	} {
		b.Commit, b.Modified = test.commit, test.modified
		var out bytes.Buffer
		want := "fakecluster v0.1.0\ncommit:     " + test.want + "\ngo:         go1.26.0 linux/amd64\nkubernetes: v1.37.1, also as 1.35, 1.36\n"
		if err := b.write(&out); err != nil || out.String() != want {
			t.Errorf("%v\n%s\nwant\n%s", err, &out, want)
		}
	}
}
