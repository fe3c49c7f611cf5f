package cache

import (
	"errors"
	"os"
	"path/filepath"
)

// Program returns the path of a program in the folder; its name may have a folder. If it is not there, build builds it at a path,
// while other runs wait.
func Program(name string, build func(path string) error) (string, error) {
	folder, err := Folder()
	if err != nil {
		return "", err
	}
	program := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", err
	}
	lock, err := Lock(program + ".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	// The go command may be interrupted while it writes.
	unfinished := program + ".unfinished"
	if err := build(unfinished); err != nil {
		return "", errors.Join(err, os.RemoveAll(unfinished))
	}
	return program, os.Rename(unfinished, program)
}
