//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// TestDevicesAndFIFOsAreRefused proves that no command reads a file without an end, or waits for the writer of a FIFO, whichever way a
// path leads to it.
func TestDevicesAndFIFOsAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"uses-fifo/kustomization.yaml": "resources: [fifo.yaml]", "uses-zero/kustomization.yaml": "resources: [zero.yaml]",
		"passes.yaml":    "scenario: It passes\nsteps:\n- log: a\n",
		"complete/a.xml": `<testsuites><testsuite name="a"><testcase name="b"/></testsuite></testsuites>`} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"fifo", "folder/a.yaml", "results/a.xml", "known/test/finding", "pipes/kustomization.yaml", "uses-fifo/fifo.yaml"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Symlink("/dev/zero", "uses-zero/zero.yaml"); err != nil {
		t.Skip(err)
	}
	const refused = " is not a regular file"
	for _, test := range []struct{ args, want string }{
		{"serve --objects fifo", "fifo" + refused},
		{"serve --objects /dev/zero", "/dev/zero" + refused},
		{"serve --crds fifo", "fifo" + refused},
		{"serve --crds /dev/zero", "/dev/zero" + refused},
		{"serve --crds folder", "folder/a.yaml" + refused},
		{"serve --manifests folder", "folder/a.yaml" + refused},
		{"serve --kustomize pipes", "pipes/kustomization.yaml" + refused},
		{"serve --kustomize uses-fifo", "fifo.yaml" + refused},
		{"serve --kustomize uses-zero", "zero.yaml' is not in or below"},
		{"serve --snapshot fifo", "fifo: it" + refused},
		{"serve --snapshot /dev/zero", "/dev/zero: it" + refused},
		{"serve --data fifo", "fifo: it" + refused},
		{"serve --workloads --workloads-config fifo", "fifo" + refused},
		{"serve --audit-log-path fifo", "--audit-log-path: fifo is a FIFO"},
		{"serve --audit-policy-file /dev/zero", "/dev/zero" + refused},
		{"snapshot --objects fifo out", "fifo" + refused},
		{"run fifo", "fifo" + refused},
		{"run /dev/zero", "/dev/zero" + refused},
		{"run folder", "folder/a.yaml" + refused},
		{"run --kustomize uses-fifo .", "fifo.yaml" + refused},
		{"run --report junit=fifo passes.yaml", "run: --report: fifo is a FIFO that no process reads: start its reader first, or name a file"},
		{"explore merge results --to out", "results/a.xml" + refused},
		{"explore merge complete --known known --to out", "known/test/finding" + refused},
	} {
		var stdout, stderr bytes.Buffer
		status := execute(t.Context(), strings.Fields(test.args), &stdout, &stderr)
		if got := stderr.String(); status == 0 || !strings.Contains(got, test.want) {
			t.Errorf("%s: status %d, %q, want %q", test.args, status, got, test.want)
		}
	}
}

// A report may go to a process, as with >(command) of bash. One that does not read it does not keep the command from ending.
func TestAReportIsWrittenToAFIFOThatIsRead(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("fifo", 0o600); err != nil {
		t.Skip(err)
	}
	reader, err := os.OpenFile("fifo", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	results := []player.Result{{Scenario: &syntax.Scenario{Name: "It passes"}}}
	if err := writeReport(t.Context(), "json=fifo", results); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(reader); err != nil || !strings.Contains(string(text), `"scenario": "It passes"`) {
		t.Errorf("the report is %q, %v", text, err)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	err = writeReport(interrupted, "json=fifo", slices.Repeat(results, 10_000)) // more than a pipe holds
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error of a report that nobody reads: %v", err)
	}
}
