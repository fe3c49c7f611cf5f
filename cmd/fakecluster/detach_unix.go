//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// detach gives a process a session of its own, so that neither Ctrl-C nor the end of the terminal reaches it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
