package portable

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A folder without the programs, and programs that do not start, are errors. Nothing is built then.
func TestOtherPrograms(t *testing.T) {
	run := func() error {
		_, err := Run(t.Context(), io.Discard, "../../scenarios", "/nowhere")
		return err
	}
	t.Setenv("KUBEBUILDER_ASSETS", "/nowhere")
	if err := run(); err == nil || err.Error() != "KUBEBUILDER_ASSETS: stat /nowhere/kube-apiserver: no such file or directory; without it the programs are built" {
		t.Errorf("no programs: %v", err)
	}
	dir := t.TempDir()
	for _, program := range []string{"kube-apiserver", "etcd", "kube-controller-manager"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	if err := run(); err == nil {
		t.Error("programs that do not start serve")
	}
}
