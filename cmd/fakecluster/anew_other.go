//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

// startAnew runs a program with the arguments of this one, and exits as it does. It returns only if that fails.
func startAnew(program string, environment []string) error {
	child := exec.Command(program)
	child.Args, child.Env = os.Args, environment
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := child.Run()
	if exit := (*exec.ExitError)(nil); err == nil || errors.As(err, &exit) {
		os.Exit(child.ProcessState.ExitCode())
	}
	return err
}
