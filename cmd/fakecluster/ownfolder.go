package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ownFolder makes a folder that only its owner can use, unless it is there. It refuses one that another user could have
// put there, or could put programs into: its name is known beforehand, and the cache folder may be shared.
func ownFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return checkOwn(path)
}

// checkOwn returns why a folder cannot be used; nil: it can.
func checkOwn(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, which is not followed: remove it, or %s", path, elsewhere)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder: remove it, or %s", path, elsewhere)
	}
	return checkOwner(path, info)
}

// elsewhere is what a user may do about a cache folder that cannot be used.
const elsewhere = "set XDG_CACHE_HOME (on macOS: HOME) to a folder of your own"
