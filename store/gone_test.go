package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that is not at its path any more takes no writes: what is written to it could not be found.
func TestADeletedFileRefusesWrites(t *testing.T) {
	for what, happens := range map[string]func(path string) error{
		"deleted": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+"-moved") },
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+"-other", []byte("my thesis"), 0o600), os.Rename(path+"-other", path))
		},
		"replaced by a link to itself": func(path string) error {
			return errors.Join(os.Rename(path, path+"-moved"), os.Symlink(path+"-moved", path))
		},
		"deleted with its folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		for name, sync := range bothSyncs {
			t.Run(what+"/"+name, func(t *testing.T) {
				var reported reports
				path := filepath.Join(t.TempDir(), "folder", "data")
				if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				s := inFile(t, path, Options{}, FileOptions{Sync: sync, Report: reported.add})
				r := put(t, s, "/a", "one")
				watching := watch(t, s, "", s.Revision())
				if err := happens(path); err != nil {
					t.Fatal(err)
				}
				want := "data file " + path + ": it has been deleted, moved or replaced while it was open; nothing more is written to it"
				for range 2 {
					_, err := s.Update("/a", r.Revision, value("two"))
					if final := (*FileError)(nil); !errors.As(err, &final) || !final.Final || err.Error() != want {
						t.Errorf("update: %v", err)
					}
				}
				if err := s.SetMeta("m"); err == nil || err.Error() != want {
					t.Errorf("meta: %v", err)
				}
				equal(t, "revision", s.Revision(), r.Revision)
				equal(t, "events", len(poll(t, watching)), 0)
				if err := s.Close(); err == nil || err.Error() != want {
					t.Errorf("close: %v", err)
				}
				equal(t, "reports", reported, reports{want})
			})
		}
	}
}

// A file that disappears after the last write has lost that one, too.
func TestCloseReportsADeletedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	s := inFile(t, path, Options{}, FileOptions{})
	put(t, s, "/a", "one")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); !errors.Is(err, errGone) {
		t.Errorf("close: %v", err)
	}
}

// A store never renames its copy over the file of another.
func TestAStoreReplacesItsOwnFileOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	a := inFile(t, path, Options{HistoryRevisions: 2}, FileOptions{})
	put(t, a, "/a", "of a")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	b := inFile(t, path, Options{HistoryRevisions: 2}, FileOptions{})
	put(t, b, "/b", "of b")
	if err := a.writeAnew(); !errors.Is(err, errGone) {
		t.Errorf("writing it anew: %v", err)
	}
	put(t, b, "/b", "more of b")
	equal(t, "files", names(t, filepath.Dir(path)), []string{"data"})
	if err := a.Close(); !errors.Is(err, errGone) {
		t.Errorf("close: %v", err)
	}
	memory, err := b.Fork()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	closed(t, b)
	same(t, "opened again", inFile(t, path, Options{}, FileOptions{}), memory)
}

// The file that a store writes beside its own is locked: two processes that have lost sight of each other never write the
// same one. The store that cannot write it goes on with the file that it has.
func TestTheNewFileIsLocked(t *testing.T) {
	var reported reports
	path := filepath.Join(t.TempDir(), "data")
	s := inFile(t, path, Options{HistoryRevisions: 2}, FileOptions{Report: reported.add})
	others, err := openLocked(filepath.Join(filepath.Dir(path), ".data.fakecluster-new"))
	if err != nil {
		t.Fatal(err)
	}
	s.file.slack = 1 << 10
	for range 5 {
		put(t, s, "/a", strings.Repeat("v", 500))
	}
	if want := "data file " + path + ": it cannot be rewritten without its forgotten history, and keeps growing: "; len(reported) == 0 || !strings.HasPrefix(reported[0], want) {
		t.Errorf("reported %q, want %s…", reported, want)
	}
	before := len(reported)
	if err := others.Close(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		put(t, s, "/a", strings.Repeat("v", 500))
	}
	equal(t, "reports", len(reported), before)
	if info, err := os.Stat(path); err != nil || info.Size() > 5<<10 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	equal(t, "files", names(t, filepath.Dir(path)), []string{"data"})
}

// A relative path is that of the folder in which the store was opened.
func TestTheWorkingDirectoryMayChange(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	s := inFile(t, "data", Options{}, FileOptions{})
	put(t, s, "/a", "one")
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	if err := os.WriteFile("data", []byte("my thesis"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, s, "/a", "two")
	if err := s.writeAnew(); err != nil {
		t.Error(err)
	}
	put(t, s, "/a", "three")
	revision := s.Revision()
	closed(t, s)
	equal(t, "the file elsewhere", string(contentOf(t, "data")), "my thesis")
	equal(t, "revision", inFile(t, filepath.Join(folder, "data"), Options{}, FileOptions{}).Revision(), revision)
}
