package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Of processes that write a new file at the same moment one succeeds, and the others leave its file alone.
func TestANewFileDoesNotReplaceAnother(t *testing.T) {
	for range 50 {
		path := filepath.Join(t.TempDir(), "file")
		var wrote [8]bool
		var writers sync.WaitGroup
		for i := range wrote {
			writers.Go(func() {
				isNew, err := writeOwn(path, []byte(fmt.Sprint(i)), "mine", func([]byte) bool { return false })
				wrote[i] = isNew && err == nil
				if err != nil && !strings.Contains(err.Error(), "exists") {
					t.Error(err)
				}
			})
		}
		writers.Wait()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, succeeded := range wrote {
			if succeeded != (string(content) == fmt.Sprint(i)) {
				t.Fatalf("the file has %q, and these returned that they wrote it: %v", content, wrote)
			}
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
			t.Fatalf("files: %v", left)
		}
	}
}

// Whether a file may be replaced is checked when its replacement is ready.
func TestAFileIsCheckedRightBeforeItIsReplaced(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	isNew, err := writeOwn(path, []byte("after"), "mine", func(before []byte) bool {
		ready, _ := filepath.Glob(filepath.Join(folder, ".fakecluster-*"))
		if len(ready) != 1 {
			t.Errorf("files that are ready: %q", ready)
		} else if content, err := os.ReadFile(ready[0]); err != nil || string(content) != "after" {
			t.Errorf("what is ready: %q, %v", content, err)
		}
		return string(before) == "before"
	})
	if content, _ := os.ReadFile(path); isNew || err != nil || string(content) != "after" {
		t.Errorf("new %v, %v; the file has %q", isNew, err, content)
	}
}
