//go:build !unix

package main

import "os/exec"

// detach does nothing: only on Unix does Ctrl-C reach the processes that a process has started.
func detach(*exec.Cmd) {}
