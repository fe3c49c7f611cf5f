package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fakecluster/fakecluster/conformance/gotool"
)

// Change is a file of an upstream module that is built otherwise than it is there.
type Change struct {
	Module string
	Path   string
	// edit makes the content out of upstream's, which is empty if upstream has no such
	// file.
	edit func(upstream []byte) ([]byte, error)
}

// neverBuilt keeps a fixture from being built where it is written.
var neverBuilt = []byte("//go:build ignore\n\n")

// File puts a file of ours in the place of upstream's, or beside upstream's files. The
// file has the build constraint "ignore", which is taken away.
func File(module, path string, content []byte) Change {
	return Change{module, path, func([]byte) ([]byte, error) {
		built := bytes.Replace(content, neverBuilt, nil, 1)
		if len(built) == len(content) {
			return nil, errors.New("the fixture lost its build constraint")
		}
		return built, nil
	}}
}

// Insertion is text that is put before a line of upstream's.
type Insertion struct{ Before, Text string }

// Insert puts text into a file of upstream's. Each line that is named has to be there
// exactly once: a new version of upstream may need the insertion elsewhere.
func Insert(module, path string, insertions ...Insertion) Change {
	return Change{module, path, func(upstream []byte) ([]byte, error) {
		for _, in := range insertions {
			line := []byte("\n" + in.Before + "\n")
			if n := bytes.Count(upstream, line); n != 1 {
				return nil, fmt.Errorf("the line %q is there %d times", in.Before, n)
			}
			upstream = bytes.Replace(upstream, line, append([]byte("\n"+in.Text), line...), 1)
		}
		return upstream, nil
	}}
}

// writeOverlay writes the changed files and the list of them for the go command.
func (w *work) writeOverlay(changes []Change) error {
	replace := map[string]string{}
	for _, c := range changes {
		original := filepath.Join(w.copies[c.Module], c.Path)
		upstream, err := os.ReadFile(original)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		content, err := c.edit(upstream)
		if err != nil {
			return fmt.Errorf("changing %s of %s: %w", c.Path, c.Module, err)
		}
		changed := filepath.Join(w.dir, "overlay", filepath.Base(c.Module), c.Path)
		if err := writeIfChanged(changed, content); err != nil {
			return err
		}
		replace[original] = changed
	}
	list, err := gotool.Overlay(replace)
	if err != nil {
		return err
	}
	w.overlay = filepath.Join(w.dir, "overlay.json")
	return writeIfChanged(w.overlay, list)
}
