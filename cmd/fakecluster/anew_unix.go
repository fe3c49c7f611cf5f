//go:build unix

package main

import (
	"os"
	"syscall"
)

// startAnew replaces the process by a program with the arguments of this one. It returns only if that fails.
func startAnew(program string, environment []string) error {
	return syscall.Exec(program, os.Args, environment)
}
