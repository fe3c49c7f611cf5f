package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memoryOfChild returns the resident memory, in bytes, of the one child of this process, the server.
func memoryOfChild() (int64, error) {
	children, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	parent := strconv.Itoa(os.Getpid())
	for _, file := range children {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(content), ") ")
		if fields := strings.Fields(rest); len(fields) < 2 || fields[1] != parent {
			continue
		}
		statm, err := os.ReadFile(filepath.Join(filepath.Dir(file), "statm"))
		if err != nil {
			return 0, err
		}
		fields := strings.Fields(string(statm))
		if len(fields) < 2 {
			return 0, fmt.Errorf("%s is %q", file, statm)
		}
		pages, err := strconv.ParseInt(fields[1], 10, 64)
		return pages * int64(os.Getpagesize()), err
	}
	return 0, errors.New("this process has no child")
}
