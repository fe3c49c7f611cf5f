package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// kubectl is the command under the name kubectl. It runs the installed kubectl, because envtest looks for one
// beside its kube-apiserver. It returns the exit status.
func kubectl(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	path, err := installedKubectl()
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	child := exec.CommandContext(ctx, path, args...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, stdout, stderr
	err = child.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(stderr, "kubectl:", err)
		return 1
	}
	return 0
}

// installedKubectl returns the first kubectl on the PATH that is not this command.
func installedKubectl() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	own, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		path, err := exec.LookPath(filepath.Join(folder, "kubectl"))
		if err != nil {
			continue
		}
		if found, err := os.Stat(path); err == nil && !os.SameFile(own, found) {
			return path, nil
		}
	}
	return "", errors.New(`kubectl: fakecluster does not contain kubectl, and it is not on the PATH.
Install it: https://kubernetes.io/docs/tasks/tools/`)
}
