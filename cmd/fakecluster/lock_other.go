//go:build !unix

package main

import (
	"errors"
	"os"
)

// errLocked is the error of a file that another process has locked.
var errLocked = errors.New("the file is locked")

// lockFile returns an error: the shared host needs file locks, which fakecluster implements on Unix only.
func lockFile(string, bool) (*os.File, error) {
	return nil, errors.New("on this system, a host needs a port of its own: fakecluster host --listen 0")
}

func unlock(*os.File) {}
