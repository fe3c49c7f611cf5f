package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// inFile returns a store in a file that is closed when the test ends.
func inFile(t testing.TB, path string, o Options, f FileOptions) *Store {
	t.Helper()
	s, err := OpenFile(path, o, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func closed(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// same holds two stores to the same revision, history and meta.
func same(t testing.TB, what string, got, want *Store) {
	t.Helper()
	equal(t, what+": revision", got.Revision(), want.Revision())
	equal(t, what+": oldest", got.Oldest(), want.Oldest())
	equal(t, what+": meta", got.Meta(), want.Meta())
	for r := want.Oldest(); r <= want.Revision(); r++ {
		equal(t, fmt.Sprintf("%s: list at %d", what, r), list(t, got, r), list(t, want, r))
	}
	equal(t, what+": events", eventsOf(t, got), eventsOf(t, want))
	equal(t, what+": keys", got.state.keys.len(), want.state.keys.len())
}

func eventsOf(t testing.TB, s *Store) (found []*Event) {
	t.Helper()
	c := watch(t, s, "", s.Oldest())
	for {
		events, err := c.Poll()
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			return found
		}
		found = append(found, events...)
	}
}

func TestAStoreInAFileGoesOnWhereItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	s := inFile(t, path, Options{}, FileOptions{})
	if err := s.Fill([]Record{first("/0", "zero", 2)}); err != nil {
		t.Fatal(err)
	}
	put(t, s, "/a/1", "one")
	if err := s.SetMeta("first"); err != nil {
		t.Fatal(err)
	}
	r := put(t, s, "/a/2", "two")
	if _, err := s.Create("/a/3", Write{Make: func(int64) string { return "three" }, Tag: "t", Index: "i",
		Before: []Update{{Key: "/a/2", Revision: r.Revision, Make: func(int64) string { return "two, with three" }}},
		After:  []Update{{Key: "/0", Revision: 2, Make: func(int64) string { return "zero, after three" }}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(3); err != nil {
		t.Fatal(err)
	}
	if err := s.SetMeta("second"); err != nil {
		t.Fatal(err)
	}
	put(t, s, "/a/1", "")
	last, _ := s.Get("/a/2")
	remove(t, s, last)
	memory, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	closed(t, s)
	for range 2 {
		s = inFile(t, path, Options{}, FileOptions{})
		same(t, "opened again", s, memory)
		put(t, s, "/b", "more")
		put(t, memory, "/b", "more")
		closed(t, s)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	equal(t, "files", names(t, filepath.Dir(path)), []string{"data"})
}

func names(t testing.TB, folder string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

// fileStep is a step in the life of a store in a file.
type fileStep struct {
	what string // put, remove, compact or reopen
	key  string
	size int // of the value, or how many revisions of the history are left
}

// After any history, a store in a file is what it would be in memory, however often it was opened again, and so is one
// that has read a snapshot.
func TestRandomHistoriesSurvive(t *testing.T) {
	random := seedtest.Rand(t)
	for range 3 {
		o := Options{HistoryRevisions: 20 + random.IntN(100)}
		var steps []fileStep
		for i := range 1000 {
			step := fileStep{what: "put", key: fmt.Sprintf("/%d/%02d", random.IntN(3), random.IntN(15)), size: random.IntN(100)}
			switch {
			case i%200 == 199:
				step = fileStep{what: "reopen"}
			case random.IntN(60) == 0:
				step.what = "compact"
			case random.IntN(3) == 0:
				step.what = "remove"
			}
			steps = append(steps, step)
		}
		seedtest.Play(t, append(steps, fileStep{what: "reopen"}), func(steps []fileStep) error {
			return seedtest.Attempt(t, func(t testing.TB) { playFile(t, o, steps) })
		})
	}
}

func playFile(t testing.TB, o Options, steps []fileStep) {
	path := filepath.Join(t.TempDir(), "data")
	memory, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { closed(t, memory) }()
	begin := func() *Store {
		s, err := OpenFile(path, o, FileOptions{Sync: SyncEverySecond})
		if err != nil {
			t.Fatal(err)
		}
		s.file.slack = 4 << 10
		return s
	}
	s := begin()
	defer func() { closed(t, s) }()
	for _, step := range steps {
		r, err := s.Get(step.key)
		switch {
		case step.what == "compact":
			revision := s.Revision() - int64(step.size)
			fails(t, "compact", s.Compact(revision), memory.Compact(revision))
		case step.what == "reopen":
			same(t, "as long as it is open", s, memory)
			live, err := ReadFile(path)
			if err != nil || live.Revision() != s.Revision() {
				t.Errorf("reading the open file: %v, %v", live, err)
			}
			closed(t, s)
			if info, _ := os.Stat(path); info.Size() > 100<<10 {
				t.Errorf("the file has %d bytes", info.Size())
			}
			survives(t, o, memory)
			s = begin()
			same(t, "opened again", s, memory)
		case step.what == "remove" && err == nil:
			remove(t, s, r)
			remove(t, memory, r)
		default:
			put(t, s, step.key, strings.Repeat("v", step.size))
			put(t, memory, step.key, strings.Repeat("v", step.size))
		}
		if t.Failed() {
			t.Fatalf("after %v", step)
		}
	}
}

// survives writes a snapshot of a store and reads it again.
func survives(t testing.TB, o Options, memory *Store) {
	t.Helper()
	snap, err := memory.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := snap.Write(&text, "meta"); err != nil {
		t.Fatal(err)
	}
	read, err := ReadSnapshot(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(read, o)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "meta", loaded.Meta(), "meta")
	loaded.meta = ""
	same(t, "loaded from a snapshot", loaded, memory)
	again, err := loaded.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var twice strings.Builder
	if err := again.Write(&twice, "meta"); err != nil || twice.String() != text.String() {
		t.Errorf("a snapshot of the loaded store has other bytes, %v", err)
	}
	closed(t, loaded)
}

// written is a file of a small history, where each of its frames begins, and the revision before each. Its mark is as
// old as the file: what has been written since is not certain to be on the disk.
func written(t *testing.T, sync Sync) (content []byte, begins []int, revisions []int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	s := inFile(t, path, Options{}, FileOptions{Sync: sync})
	note := func() {
		begins, revisions = append(begins, int(s.file.size)), append(revisions, s.Revision())
	}
	note()
	for i := range 6 {
		put(t, s, fmt.Sprint("/", i%4), strings.Repeat("value ", i))
		note()
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	copy(content[markOffset:], markOf(int64(begins[0])))
	return content, begins, revisions
}

func read(t *testing.T, content []byte) (*Snapshot, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadFile(path)
}

// Wherever the file ends, all whole frames count, and no half one.
func TestAnIncompleteTailIsCutOff(t *testing.T) {
	content, begins, revisions := written(t, SyncAlways)
	for size := begins[0]; size <= len(content); size++ {
		whole := 0
		for whole+1 < len(begins) && begins[whole+1] <= size {
			whole++
		}
		snap, err := read(t, content[:size])
		if err != nil || snap.Revision() != revisions[whole] {
			t.Fatalf("with %d bytes of %d: %v, %v; want revision %d", size, len(content), snap, err, revisions[whole])
		}
	}
	for size := 1; size < begins[0]; size++ {
		if snap, err := read(t, content[:size]); err == nil {
			t.Fatalf("with %d bytes of the first %d there is a store at %d", size, begins[0], snap.Revision())
		}
	}

	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, content[:len(content)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	for want := int64(6); want < 9; want++ {
		s := inFile(t, path, Options{}, FileOptions{})
		equal(t, "revision", s.Revision(), want)
		put(t, s, "/new", "after the cut")
		closed(t, s)
	}
}

// A byte that changes after it was on the disk is found, and nothing is cut off. Only for the last frame it is unknown
// that it was ever complete.
func TestDamageIsNotATail(t *testing.T) {
	content, begins, revisions := written(t, SyncAlways)
	last := begins[len(begins)-2]
	for offset := range content {
		content[offset] ^= 0x10
		snap, err := read(t, content)
		var format *FormatError
		switch {
		case offset < last && !errors.As(err, &format):
			t.Fatalf("byte %d: %v, %v", offset, snap, err)
		case offset >= last && (err != nil || snap.Revision() != revisions[len(revisions)-2]):
			t.Fatalf("byte %d of the last frame: %v, %v", offset, snap, err)
		}
		content[offset] ^= 0x10
	}
}

// What was not synced may come to the disk in any order before the power fails.
func TestATailThatWasNotSyncedIsCutOffWhereItIsBroken(t *testing.T) {
	content, begins, revisions := written(t, SyncEverySecond)
	clear(content[begins[2]:begins[3]])
	snap, err := read(t, content)
	if err != nil || snap.Revision() != revisions[2] {
		t.Errorf("%v, %v; want revision %d", snap, err, revisions[2])
	}
}

func TestWhichFilesAreRefused(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	ours := inFile(t, path("open"), Options{}, FileOptions{})
	put(t, ours, "/a", "b")
	moved := inFile(t, path("rewritten"), Options{}, FileOptions{})
	put(t, moved, "/a", "b")
	if err := moved.writeAnew(); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.WriteFile(path("precious"), []byte("my thesis"), 0o644),
		os.WriteFile(path("newer"), []byte(formatName+"3\nand more"), 0o644),
		os.WriteFile(path("numberless"), []byte(formatName+"x\n"), 0o644),
		os.WriteFile(path("truncated"), []byte(formatLine(streamFormat)), 0o644),
		os.Symlink(path("nothing"), path("dangling")), os.Symlink(path("precious"), path("link")),
		os.Mkdir(path("folder"), 0o700), syscall.Mkfifo(path("pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"open":        "another fakecluster has it open",
		"rewritten":   "another fakecluster has it open",
		"precious":    "this is not data of fakecluster (at byte 0)",
		"newer":       "a newer fakecluster has written this data, in format 3; this one reads formats up to 2 (at byte 0)",
		"numberless":  "the format of this data of fakecluster does not have a number (at byte 0)",
		"truncated":   "the data is damaged, or not all of it is there (at byte 27)",
		"dangling":    "it is a symbolic link, which is not followed",
		"link":        "it is a symbolic link, which is not followed",
		"folder":      "is a directory",
		"pipe":        "it is not a regular file",
		"no/where":    "no such file or directory",
		"precious/in": "not a directory",
	} {
		content := func() string {
			if name == "pipe" {
				return ""
			}
			content, _ := os.ReadFile(path(name))
			return string(content)
		}
		before := content()
		s, err := OpenFile(path(name), Options{}, FileOptions{})
		if err == nil {
			s.Close()
		}
		if want := "data file " + path(name) + ": " + want; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if content() != before {
			t.Errorf("%s has changed", name)
		}
	}
	if _, err := os.Lstat(path("nothing")); err == nil {
		t.Error("the target of the link has been made")
	}
	if _, err := OpenFile(path("new"), Options{}, FileOptions{Sync: 7}); err == nil {
		t.Error("a way of syncing that there is not")
	}
	closed(t, ours)
	again := inFile(t, path("open"), Options{}, FileOptions{})
	equal(t, "revision", again.Revision(), int64(2))
}

func TestASnapshotIsReadOnlyIfAllOfItIsThere(t *testing.T) {
	s := open(t, Options{HistoryRevisions: 3})
	history(t, s)
	snap, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := snap.Write(&text, ""); err != nil {
		t.Fatal(err)
	}
	for n := range text.Len() {
		var format *FormatError
		if snap, err := ReadSnapshot(strings.NewReader(text.String()[:n])); !errors.As(err, &format) {
			t.Fatalf("the first %d of %d bytes: %v, %v", n, text.Len(), snap, err)
		}
	}
	broken := errors.New("the network")
	if _, err := ReadSnapshot(io.MultiReader(strings.NewReader(text.String()[:40]), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if err := snap.Write(failing{broken}, ""); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A file begins with a snapshot only if it is new.
func TestAFileBeginsWithASnapshot(t *testing.T) {
	s := open(t, Options{})
	history(t, s)
	snap, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "data")
	for want := range int64(3) {
		f := inFile(t, path, Options{}, FileOptions{From: snap})
		equal(t, "revision", f.Revision(), snap.Revision()+want)
		put(t, f, "/new", "value")
		closed(t, f)
	}
	f := inFile(t, path, Options{}, FileOptions{})
	equal(t, "the past", list(t, f, 5), list(t, s, 5))
}

// troubled is a disk with troubles of one kind.
type troubled struct {
	*os.File
	write, truncate, sync error
	syncs                 int
}

func (d *troubled) WriteAt(b []byte, offset int64) (int, error) {
	if d.write != nil {
		n, _ := d.File.WriteAt(b[:len(b)/2], offset)
		return n, d.write
	}
	return d.File.WriteAt(b, offset)
}

func (d *troubled) Truncate(size int64) error {
	if d.truncate != nil {
		return d.truncate
	}
	return d.File.Truncate(size)
}

func (d *troubled) Sync() error { d.syncs++; return d.sync }

// A write that is not in the file has not happened, and the next one may.
func TestADiskThatIsFullRefusesWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	s := inFile(t, path, Options{}, FileOptions{})
	r := put(t, s, "/a", "one")
	disk := &troubled{File: s.file.handle.(*os.File), write: syscall.ENOSPC}
	s.file.handle = disk
	watching := watch(t, s, "", 0)
	if _, err := s.Update("/a", r.Revision, value("two")); !isFull(err) || err.Error() != "data file "+path+": no space left on device" {
		t.Errorf("update: %v", err)
	}
	if err := s.SetMeta("m"); !isFull(err) {
		t.Errorf("meta: %v", err)
	}
	if err := s.Compact(2); !isFull(err) {
		t.Errorf("compact: %v", err)
	}
	equal(t, "revision", s.Revision(), int64(2))
	equal(t, "events", len(poll(t, watching)), 0)
	disk.write = nil
	update(t, s, r, "three")
	closed(t, s)
	s = inFile(t, path, Options{}, FileOptions{})
	got, err := s.Get("/a")
	equal(t, "record", got, Record{Key: "/a", Value: "three", Revision: 3, Created: 2})
	fails(t, "error", err, nil)
}

func isFull(err error) bool {
	var refused *FileError
	return errors.As(err, &refused) && refused.Full() && !refused.Final
}

// After a failed sync the content of the disk is unknown, so nothing more is written, and reads go on.
func TestAfterAFailedSyncNothingIsWritten(t *testing.T) {
	for _, disk := range []*troubled{{sync: syscall.EIO}, {write: syscall.ENOSPC, truncate: syscall.EIO}} {
		s := inFile(t, filepath.Join(t.TempDir(), "data"), Options{}, FileOptions{})
		put(t, s, "/a", "one")
		disk.File = s.file.handle.(*os.File)
		s.file.handle = disk
		for range 2 {
			if _, err := s.Create("/b", value("two")); err == nil {
				t.Fatal("the write has been acknowledged")
			}
			disk.sync, disk.write, disk.truncate = nil, nil, nil
		}
		_, err := s.Create("/b", value("two"))
		if want := s.file.path + ": input/output error"; !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), "; nothing more is written to it") {
			t.Errorf("%v, want …%s…", err, want)
		}
		if _, err := s.Get("/a"); err != nil {
			t.Error(err)
		}
		equal(t, "revision", s.Revision(), int64(2))
	}
}

// The mark that was written after the last sync is synced when the store is closed.
func TestCloseSyncsTheMark(t *testing.T) {
	for name, sync := range bothSyncs {
		s := inFile(t, filepath.Join(t.TempDir(), "data"), Options{}, FileOptions{Sync: sync})
		put(t, s, "/a", "one")
		if err := s.file.syncNow(); err != nil {
			t.Fatal(err)
		}
		s.file.handle = &troubled{File: s.file.handle.(*os.File), sync: syscall.EIO}
		if err := s.Close(); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: close: %v", name, err)
		}
	}
}

// With SyncEverySecond a burst is synced once, a second after its first write, and an idle store never.
func TestSyncEverySecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	synctest.Test(t, func(t *testing.T) {
		s := inFile(t, path, Options{}, FileOptions{Sync: SyncEverySecond})
		disk := &troubled{File: s.file.handle.(*os.File)}
		s.file.handle = disk
		for range 10 {
			put(t, s, "/a", "one")
		}
		time.Sleep(syncAfter - time.Millisecond)
		syncs := func() int {
			s.file.mu.Lock()
			defer s.file.mu.Unlock()
			return disk.syncs
		}
		equal(t, "syncs within the second", syncs(), 0)
		time.Sleep(time.Hour)
		equal(t, "syncs", syncs(), 1)
		equal(t, "synced", s.file.safe(), s.file.size)
		s.file.mu.Lock()
		disk.sync = syscall.EIO
		s.file.mu.Unlock()
		put(t, s, "/a", "two")
		time.Sleep(time.Minute)
		if _, err := s.Create("/b", value("two")); !errors.Is(err, syscall.EIO) {
			t.Errorf("after a sync that failed: %v", err)
		}
		if err := s.Close(); !errors.Is(err, syscall.EIO) {
			t.Errorf("close: %v", err)
		}
	})
}

// A file does not grow by records that cannot be read any more.
func TestAFileIsRewrittenWithoutCompactedRevisions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	s := inFile(t, path, Options{HistoryRevisions: 10}, FileOptions{Sync: SyncEverySecond})
	s.file.slack = 10 << 10
	large := strings.Repeat("v", 1000)
	most := int64(0)
	for i := range 300 {
		put(t, s, fmt.Sprint("/", i%5), large)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, info.Size())
	}
	if most > 50<<10 || most < 30<<10 {
		t.Errorf("the file had %d bytes", most)
	}
	memory, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	closed(t, s)
	same(t, "opened again", inFile(t, path, Options{HistoryRevisions: 10}, FileOptions{}), memory)
	equal(t, "files", names(t, filepath.Dir(path)), []string{"data"})
}

// A temporary file of a process that was killed while it rewrote the data file is replaced.
func TestALeftoverTemporaryFileIsReplaced(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, ".data.fakecluster-new"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := inFile(t, filepath.Join(folder, "data"), Options{}, FileOptions{})
	put(t, s, "/a", "b")
	equal(t, "files", names(t, folder), []string{"data"})
}

// Whatever a stream has, reading it neither panics nor makes a store that does not hold together.
func FuzzReadSnapshot(f *testing.F) {
	s := open(f, Options{HistoryRevisions: 3})
	history(f, s)
	for range 2 {
		snap, err := s.Snapshot()
		if err != nil {
			f.Fatal(err)
		}
		var text strings.Builder
		if err := snap.Write(&text, "meta"); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(text.String()))
		if err := s.Compact(s.Revision()); err != nil {
			f.Fatal(err)
		}
	}
	f.Add([]byte(formatLine(fileFormat) + string(markOf(0))))
	f.Fuzz(func(t *testing.T, content []byte) {
		snap, err := ReadSnapshot(strings.NewReader(string(resealed(content))))
		if err != nil {
			return
		}
		loaded, err := Load(snap, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer loaded.Close()
		for r := max(loaded.Oldest(), loaded.Revision()-10); r <= loaded.Revision(); r++ {
			if _, err := loaded.List("", ListOptions{Revision: r}); err != nil {
				t.Fatal(err)
			}
		}
		put(t, loaded, "/new", "value")
		var out strings.Builder
		if err := snap.Write(&out, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSnapshot(strings.NewReader(out.String())); err != nil {
			t.Fatal(err)
		}
	})
}

// resealed gives the frames of a content the checksums that they ought to have, so that a fuzzer gets past these.
func resealed(content []byte) []byte {
	content = append([]byte(nil), content...)
	for offset := len(formatLine(fileFormat)); offset+frameHead <= len(content); {
		length, _, ok := readFrameHead(content[offset:])
		if !ok || length > len(content)-offset-frameHead {
			break
		}
		_, _ = frame(content[offset : offset+frameHead+length : offset+frameHead+length]).close(int64(offset))
		offset += frameHead + length
	}
	return content
}
