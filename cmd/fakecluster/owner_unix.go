//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner returns an error for a folder that belongs to another user, or that others can write to.
func checkOwner(path string, info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (uid %d; yours is %d), who could change its content: remove it, or %s", path, stat.Uid, os.Geteuid(), elsewhere)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%s has mode %#o, so other users could change its content: remove it, or %s", path, mode, elsewhere)
	}
	return nil
}
