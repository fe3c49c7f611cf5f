// Package gotool runs the go command, which finds, builds and lists what is run
// against fakecluster.
package gotool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Output runs the go command in a folder, the present one if it is empty, and
// returns what it prints. An error contains its stderr.
func Output(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// A workspace would override the versions that the go.mod in use names.
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// Overlay returns the content of a file for the flag -overlay: the go command reads the files that the paths of others lead to in place of
// these, which need not exist.
func Overlay(replace map[string]string) ([]byte, error) {
	return json.Marshal(map[string]any{"Replace": replace})
}
