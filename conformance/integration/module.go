package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"github.com/fakecluster/fakecluster/conformance/cache"
	"github.com/fakecluster/fakecluster/conformance/gotool"
)

const ourPath = "github.com/fakecluster/fakecluster"

// module is what `go list -m -json` says of a module.
type module struct{ Path, Version, Dir, GoMod string }

// listModule finds a dependency of this module, or this module's own parent.
func listModule(ctx context.Context, path string) (m module, err error) {
	out, err := gotool.Output(ctx, "", "list", "-m", "-json", path)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(out, &m)
}

// copyModule returns a folder with a copy of a module, as it is in the module cache. A
// copy is needed because an overlay cannot change files of the module cache.
func copyModule(m module, into string) (string, error) { return copyModules(m, nil, into) }

// copyModules returns such a copy with other modules in some of its folders.
func copyModules(m module, inside map[string]module, into string) (string, error) {
	dir := filepath.Join(into, Name(m.Path)+"@"+m.Version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	unfinished, err := os.MkdirTemp(into, "unfinished-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(unfinished)
	// CopyFS adds to the modes of the module cache, which is read-only, the right
	// of the owner to write.
	if err := os.CopyFS(unfinished, os.DirFS(m.Dir)); err != nil {
		return "", err
	}
	for part, m := range inside {
		if err := os.CopyFS(filepath.Join(unfinished, part), os.DirFS(m.Dir)); err != nil {
			return "", err
		}
	}
	// A run beside this one may have been first.
	if err := os.Rename(unfinished, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr == nil {
			return dir, nil
		}
		return "", err
	}
	return dir, os.Chmod(dir, 0o755) // MkdirTemp made it private
}

// work is a module that has fakecluster and the copies of upstream's modules as its
// dependencies. In it the tests are built.
type work struct {
	dir     string
	copies  map[string]string // module path to folder
	overlay string            // for -overlay
	lock    *os.File
}

// prepare makes the module for a suite. It is kept in the user's cache, one for each
// checkout of fakecluster and suite, with the test binaries: the go command does not link
// again what has not changed. The caller closes it.
func (s Suite) prepare(ctx context.Context) (*work, error) {
	folder, err := cache.Folder()
	if err != nil {
		return nil, err
	}
	ours, err := listModule(ctx, ourPath)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(ours.Dir))
	w := &work{
		dir:    filepath.Join(folder, s.Name+"-"+hex.EncodeToString(sum[:6])),
		copies: map[string]string{},
	}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return nil, err
	}
	if w.lock, err = cache.Lock(filepath.Join(w.dir, "lock")); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(w.dir, checkoutFile), []byte(ours.Dir), 0o644); err != nil {
		w.close()
		return nil, err
	}
	if err := removeOrphans(filepath.Join(folder, s.Name+"-*")); err != nil {
		w.close()
		return nil, err
	}
	if err := w.fill(ctx, s, ours, folder); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// checkoutFile is the file in a suite's module that names the checkout of fakecluster it is of.
const checkoutFile = "checkout"

// removeOrphans removes the modules whose checkout is gone: their test binaries would fill the
// disk, some hundred megabytes for each clone that CI once ran in.
func removeOrphans(pattern string) error {
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		checkout, err := os.ReadFile(filepath.Join(dir, checkoutFile))
		if err != nil {
			continue // a run beside this one has only begun to make it
		}
		if _, err := os.Stat(string(checkout)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// close lets other runs work in the folder.
func (w *work) close() { w.lock.Close() }

// fill writes go.mod, go.sum and the overlay.
func (w *work) fill(ctx context.Context, s Suite, ours module, folder string) error {
	var sums bytes.Buffer
	mod := fmt.Sprintf("module fakecluster.test/%s\n\ngo 1.26.0\n\nrequire %s v0.0.0\nreplace %[2]s => %s\n", s.Name, ourPath, ours.Dir)
	addSums := func(dir string) error {
		content, err := os.ReadFile(filepath.Join(dir, "go.sum"))
		sums.Write(content)
		return err
	}
	// The sums of conformance's own go.sum are those of upstream's modules themselves.
	if err := addSums(ours.Dir); err != nil {
		return err
	}
	if err := addSums(filepath.Join(ours.Dir, "conformance")); err != nil {
		return err
	}
	for _, path := range s.Modules {
		upstream, err := listModule(ctx, path)
		if err != nil {
			return err
		}
		dir, err := copyModule(upstream, folder)
		if err != nil {
			return fmt.Errorf("copying %s: %w", path, err)
		}
		w.copies[path] = dir
		mod += fmt.Sprintf("require %s %s\nreplace %[1]s => %[3]s\n", path, upstream.Version, dir)
		if err := addSums(dir); err != nil {
			return err
		}
	}
	if err := writeIfChanged(filepath.Join(w.dir, "go.sum"), sums.Bytes()); err != nil {
		return err
	}
	if err := writeIfChanged(filepath.Join(w.dir, "go.mod"), []byte(mod)); err != nil {
		return err
	}
	return w.writeOverlay(s.Changes)
}

// writeIfChanged leaves a file alone that has the content already, with its time.
func writeIfChanged(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// Copy returns a folder with a copy of a module that conformance requires, as it is in the module
// cache, in which the go command can build the module's own tests. It is never changed.
func Copy(ctx context.Context, path string) (string, error) {
	folder, err := cache.Folder()
	if err != nil {
		return "", err
	}
	m, err := listModule(ctx, path)
	if err != nil {
		return "", err
	}
	return copyModule(m, folder)
}

// Name returns the last element of a module's path that is not a major version: trainer for
// github.com/kubeflow/trainer/v2.
func Name(modulePath string) string { return path.Base(majorVersion.ReplaceAllString(modulePath, "")) }

var majorVersion = regexp.MustCompile("/v[0-9]+$")

// CopyVersion is as Copy, for a version of a module that conformance does not require. parts are the
// folders in its repository that are modules of their own, such as "api", and that its go.mod replaces by
// these folders: those modules are copied there, in the same version.
func CopyVersion(ctx context.Context, path, version string, parts ...string) (string, error) {
	folder, err := cache.Folder()
	if err != nil {
		return "", err
	}
	m, err := downloadModule(ctx, path+"@"+version)
	if err != nil {
		return "", err
	}
	inside := map[string]module{}
	for _, part := range parts {
		if inside[part], err = downloadModule(ctx, path+"/"+part+"@"+version); err != nil {
			return "", err
		}
	}
	return copyModules(m, inside, folder)
}

func downloadModule(ctx context.Context, path string) (m module, err error) {
	out, err := gotool.Output(ctx, "", "mod", "download", "-json", path)
	if err != nil {
		return m, fmt.Errorf("%w\n%s", err, out)
	}
	return m, json.Unmarshal(out, &m)
}
