//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

// reexec runs a program with the arguments of this one, and exits with its status. It returns only if the
// program cannot be started.
func reexec(program string, environment []string) error {
	child := exec.Command(program)
	child.Args, child.Env = os.Args, environment
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := child.Run()
	if exit := (*exec.ExitError)(nil); err == nil || errors.As(err, &exit) {
		os.Exit(child.ProcessState.ExitCode())
	}
	return err
}
