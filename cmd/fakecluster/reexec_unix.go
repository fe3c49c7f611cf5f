//go:build unix

package main

import (
	"os"
	"syscall"
)

// reexec replaces this process by a program with the same arguments. It returns only if that fails.
func reexec(program string, environment []string) error {
	return syscall.Exec(program, os.Args, environment)
}
