package suite

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/fakecluster/fakecluster/conformance/gotool"
)

const (
	upstreamPath = "k8s.io/apiextensions-apiserver"
	ourPath      = "github.com/fakecluster/fakecluster"
	// fixturePath is the one file of upstream's that is replaced.
	fixturePath = "test/integration/fixtures/server.go"
)

//go:embed fixtures/server.go
var fixture []byte

// neverBuilt keeps the fixture from being built where it is written.
var neverBuilt = []byte("//go:build ignore\n\n")

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

// copyUpstream returns a folder with a copy of upstream's module that has our
// fixture in it. The folder is kept in the user's cache, named by what is in it, so
// that the next run finds it and what the go command has built of it.
func copyUpstream(upstream module) (string, error) {
	ours := bytes.Replace(fixture, neverBuilt, nil, 1)
	if len(ours) == len(fixture) {
		return "", errors.New("the fixture lost its build constraint")
	}
	sum := sha256.Sum256(append([]byte(upstream.Path+"@"+upstream.Version+"\n"), ours...))
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "fakecluster-conformance")
	dir := filepath.Join(cache, filepath.Base(upstream.Path)+"-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unfinished, err := os.MkdirTemp(cache, "unfinished-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(unfinished)
	// CopyFS adds to the modes of the module cache, which is read-only, the right
	// of the owner to write.
	if err := os.CopyFS(unfinished, os.DirFS(upstream.Dir)); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(unfinished, fixturePath), ours, 0o644); err != nil {
		return "", err
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

// writeModFile writes a go.mod (and go.sum) that adds fakecluster to upstream's
// requirements, into the folder work, and returns its path.
func writeModFile(ctx context.Context, work, copied string, ours module) (string, error) {
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(copied, name))
		if err != nil {
			return "", err
		}
		if name == "go.sum" {
			sums, err := os.ReadFile(filepath.Join(ours.Dir, name))
			if err != nil {
				return "", err
			}
			content = append(content, sums...)
		}
		if err := os.WriteFile(filepath.Join(work, name), content, 0o644); err != nil {
			return "", err
		}
	}
	modFile := filepath.Join(work, "go.mod")
	_, err := gotool.Output(ctx, "", "mod", "edit",
		"-require="+ourPath+"@v0.0.0", "-replace="+ourPath+"="+ours.Dir, modFile)
	return modFile, err
}
