package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ownFolder makes a folder that only its owner can use, if it does not exist. It returns an error for a
// folder that another user could have made, or could put programs into, because the name is predictable and
// the cache folder may be shared.
func ownFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return checkOwn(path)
}

// checkOwn returns an error for a path that is not a folder of this user alone.
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

// elsewhere is advice for a cache folder that cannot be used.
const elsewhere = "set XDG_CACHE_HOME (on macOS: HOME) to a folder of your own"
