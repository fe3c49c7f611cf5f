package main

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// withParent returns a context that ends with the parent process, if that has started this process in a
// process group of its own, as envtest does. The signal of Ctrl-C does not reach such a process, so an
// interrupted or killed suite would leave it running. A command of a shell script is in the process group of
// the script, and may outlive it.
func withParent(ctx context.Context) context.Context {
	if unix.Getpgrp() != os.Getpid() {
		return ctx
	}
	parent := os.Getppid()
	fd, err := unix.PidfdOpen(parent, 0)
	if err != nil {
		return ctx // an old kernel, or the parent is not visible
	}
	ctx, end := context.WithCancel(ctx)
	go func() {
		defer end()
		ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for os.Getppid() == parent {
			if _, err := unix.Poll(ended, -1); err != unix.EINTR {
				return
			}
		}
	}()
	return ctx
}
