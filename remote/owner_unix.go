//go:build unix

package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner returns an error for a file or folder of another user, and nil if there is none.
func checkOwner(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (uid %d; yours is %d): remove it, or set XDG_CACHE_HOME (on macOS: HOME) to a folder of your own", path, stat.Uid, os.Geteuid())
	}
	return nil
}
