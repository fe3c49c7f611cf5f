//go:build !linux

package container

import (
	"os"
	"syscall"
)

// Programs of containers run on Linux only: Program.function fails elsewhere, so that these are not called.

func attributes() *syscall.SysProcAttr { return nil }

func terminate(*os.Process) {}

func killGroup(*os.Process) {}

func exitCode(s *os.ProcessState) int { return s.ExitCode() }
