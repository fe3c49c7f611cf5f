package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// some is 1 for all places in a file, and more under the race detector.
var some = 10 / seedtest.Cases(10)

var bothSyncs = map[string]Sync{"always": SyncAlways, "second": SyncEverySecond}

// lived writes a history to a store in a file.
func lived(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Fill([]Record{first("/0", "zero", 2)}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		put(t, s, fmt.Sprint("/", i%3), strings.Repeat("value ", i))
	}
	if err := s.SetMeta("meta"); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(3); err != nil {
		t.Fatal(err)
	}
	put(t, s, "/last", "value")
}

// beside returns the path of a new file with a content, in a folder of its own.
func beside(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	overwrite(t, path, content)
	return path
}

// overwrite gives a file a content. It does not empty it first, after which some file systems sync what is written.
func overwrite(t *testing.T, path string, content []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(content, 0)
	if err = errors.Join(err, f.Truncate(int64(len(content))), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// refused opens a damaged content. It has to be refused with the place of the damage, and nothing may change.
func refused(t *testing.T, what, path string, content []byte) {
	t.Helper()
	overwrite(t, path, content)
	s, err := OpenFile(path, Options{}, FileOptions{Report: func(err error) { t.Errorf("%s: reported %v", what, err) }})
	if err == nil {
		t.Fatalf("%s: it opens: %v", what, s.Close())
	}
	if format := (*FormatError)(nil); !errors.As(err, &format) || format.Offset > int64(len(content)) {
		t.Fatalf("%s: %v", what, err)
	}
	if string(contentOf(t, path)) != string(content) || len(names(t, filepath.Dir(path))) != 1 {
		t.Fatalf("%s: the file has changed, or there are others: %q", what, names(t, filepath.Dir(path)))
	}
}

// reports collects what a store reports.
type reports []string

func (r *reports) add(err error) { *r = append(*r, err.Error()) }

// Whatever happens to a file that was closed, nothing of it is lost in silence: one flipped bit anywhere, or an end that
// is missing, is refused. Appended bytes are cut off.
func TestAnyDamageToAClosedFileIsRefused(t *testing.T) {
	for name, sync := range bothSyncs {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			s := inFile(t, path, Options{}, FileOptions{Sync: sync})
			lived(t, s)
			revision := s.Revision()
			closed(t, s)
			content := contentOf(t, path)
			for i := 0; i < 8*len(content); i += some {
				index, bit := i/8, i%8
				content[index] ^= 1 << bit
				refused(t, fmt.Sprintf("bit %d of byte %d of %d", bit, index, len(content)), path, content)
				content[index] ^= 1 << bit
			}
			for size := 1; size < len(content); size += some {
				refused(t, fmt.Sprintf("the first %d bytes of %d", size, len(content)), path, content[:size])
			}

			var reported reports
			longer := append(content[:len(content):len(content)], "garbage"...)
			path = beside(t, longer)
			s = inFile(t, path, Options{}, FileOptions{Report: reported.add})
			equal(t, "revision", s.Revision(), revision)
			closed(t, s)
			kept := fmt.Sprintf("%s.cut-%d", path, len(content))
			equal(t, "reports", reported, reports{fmt.Sprintf("data file %s: the last 7 bytes are incomplete, from byte %d on, and have been cut off; "+
				"a copy of them is in %s; the data continues at revision %d", path, len(content), kept, revision)})
			equal(t, "the copy", string(contentOf(t, kept)), "garbage")
			equal(t, "the file", string(contentOf(t, path)), string(content))
			if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the copy: %v, %v", info.Mode(), err)
			}
		})
	}
}

// A tail that was not synced is cut off where it is broken, each time with a copy. What was synced before is there, or the
// file is refused.
func TestATornTailIsReportedAndKept(t *testing.T) {
	content, begins, revisions := written(t, SyncEverySecond)
	path := beside(t, nil)
	for offset := 0; offset < len(content); offset += 5 * some {
		damaged := append([]byte(nil), content...)
		damaged[offset] ^= 0x10
		if offset < begins[0] {
			refused(t, fmt.Sprint("byte ", offset), path, damaged)
			continue
		}
		whole := 0
		for begins[whole+1] <= offset {
			whole++
		}
		for n := range 2 {
			var reported reports
			overwrite(t, path, damaged)
			s := inFile(t, path, Options{}, FileOptions{Report: reported.add})
			equal(t, "revision", s.Revision(), revisions[whole])
			closed(t, s)
			kept := fmt.Sprintf("%s.cut-%d", path, begins[whole])
			if n > 0 {
				kept += "-2"
			}
			if len(reported) != 1 || !strings.Contains(reported[0], kept) {
				t.Fatalf("byte %d: reported %q, and not the copy %s", offset, reported, kept)
			}
			equal(t, "the copy", string(contentOf(t, kept)), string(damaged[begins[whole]:]))
		}
		for _, name := range names(t, filepath.Dir(path)) {
			if err := os.Remove(filepath.Join(filepath.Dir(path), name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What was synced is marked as complete at once, so that its damage is found although the store was never closed.
func TestASyncMarksTheFile(t *testing.T) {
	for name, sync := range bothSyncs {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			synctest.Test(t, func(t *testing.T) {
				s := inFile(t, path, Options{}, FileOptions{Sync: sync})
				lived(t, s)
				time.Sleep(2 * syncAfter)
				content := contentOf(t, path)
				content[len(content)-1] ^= 1
				refused(t, "the last byte", beside(t, nil), content)
				refused(t, "all but the last byte", beside(t, nil), content[:len(content)-1])
				equal(t, "a copy of the open file", inFile(t, beside(t, contentOf(t, path)), Options{}, FileOptions{}).Revision(), s.Revision())
			})
		})
	}
}

// What a process has left that was killed is complete once it has been opened again.
func TestOpeningMarksTheFile(t *testing.T) {
	content, _, revisions := written(t, SyncEverySecond)
	path := beside(t, content)
	s := inFile(t, path, Options{}, FileOptions{})
	equal(t, "revision", s.Revision(), revisions[len(revisions)-1])
	content = contentOf(t, path)
	content[len(content)-1] ^= 1
	refused(t, "the last byte", beside(t, nil), content)
}

// testdata/format1.data was written before there was a mark. It opens, and is marked from then on.
func TestFilesWithoutAMarkOpen(t *testing.T) {
	old := contentOf(t, "testdata/format1.data")
	path := beside(t, old)
	var first *Store
	for range 2 {
		s := inFile(t, path, Options{}, FileOptions{Report: func(err error) { t.Error(err) }})
		equal(t, "revision", s.Revision(), int64(8))
		equal(t, "oldest", s.Oldest(), int64(3))
		equal(t, "meta", s.Meta(), "meta")
		equal(t, "records", len(list(t, s, 0).Records), 3)
		if first != nil {
			same(t, "opened again", s, first)
			continue
		}
		var err error
		if first, err = s.Fork(); err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		closed(t, s)
	}
	content := contentOf(t, path)
	content[len(content)-1] ^= 1
	refused(t, "the last byte", beside(t, nil), content)

	old[len(old)/2] ^= 1
	refused(t, "a byte of the old file", beside(t, nil), old)
	old[len(old)/2] ^= 1
	var reported reports
	path = beside(t, old[:len(old)-1])
	equal(t, "revision without the last frame", inFile(t, path, Options{}, FileOptions{Report: reported.add}).Revision(), int64(7))
	equal(t, "reports", len(reported), 1)
	equal(t, "files", len(names(t, filepath.Dir(path))), 2)
}

// A file that is there and empty may be all that is left of one, so it is refused and not changed.
func TestAnEmptyFileIsRefused(t *testing.T) {
	path := beside(t, nil)
	for range 2 {
		_, err := OpenFile(path, Options{}, FileOptions{})
		equal(t, "error", fmt.Sprint(err), "data file "+path+": it exists and is empty, as if its data had been lost: remove it to begin a new cluster")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	closed(t, inFile(t, path, Options{}, FileOptions{}))
}
