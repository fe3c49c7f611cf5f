package portable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Without programs the part says that it has played nothing, and why.
func TestWithoutPrograms(t *testing.T) {
	for _, test := range []struct{ dir, want string }{
		{"", "skipped: KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd; to play the scenarios against a real API server, set it, for example with setup-envtest"},
		{"/nowhere", "skipped: KUBEBUILDER_ASSETS: stat /nowhere/kube-apiserver: no such file or directory"},
	} {
		t.Setenv(assets, test.dir)
		_, err := Run(t.Context(), io.Discard, "../../scenarios")
		if !errors.Is(err, ErrSkipped) || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.dir, err, test.want)
		}
	}
	dir := t.TempDir()
	for _, program := range []string{"kube-apiserver", "etcd"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(assets, dir)
	if _, err := Run(t.Context(), io.Discard, "../../scenarios"); err == nil || errors.Is(err, ErrSkipped) {
		t.Errorf("programs that do not start: %v", err)
	}
}
