package main

import (
	"context"
	"encoding/json"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A program has one version of a module, cannot import the internal packages of another one, and takes over the versions of libraries that a module
// requires. So some operators are copied into this module, in one version or in the two of an upgrade, each to a folder with its version:
// modules/copied/trustmanager-v0.24.0. The tests that import them have the build tag "copied", because the copies are not committed.
const (
	copiedFolder = modules + "/copied"
	copiedPath   = "github.com/fakecluster/fakecluster/conformance/found/modules/copied/"
	copiedTag    = "copied"
)

// copied are the modules that are copied for the tests in a folder of modules.
var copied = []struct{ folder, module, version string }{
	{"agentsandbox", "sigs.k8s.io/agent-sandbox", "v0.5.5"},
	{"agentsandbox", "sigs.k8s.io/agent-sandbox", "v0.5.6"},
	{"kuberay", "github.com/ray-project/kuberay/ray-operator", "v1.4.0"},
	{"nodereadiness", "sigs.k8s.io/node-readiness-controller", "v0.5.0"},
	{"trustmanager", "github.com/cert-manager/trust-manager", "v0.24.0"},
}

// copyModules copies the modules for the tests in these folders.
func copyModules(ctx context.Context, folders []string) error {
	if err := os.RemoveAll(copiedFolder); err != nil {
		return err
	}
	for _, m := range copied {
		if !slices.Contains(folders, m.folder) {
			continue
		}
		// Outside of a module, so that it does not count as required.
		cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", m.module+"@"+m.version)
		cmd.Dir = os.TempDir()
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out)
		}
		var downloaded struct{ Dir string }
		if err := json.Unmarshal(out, &downloaded); err != nil {
			return err
		}
		folder := m.folder + "-" + m.version
		if err := copyModule(downloaded.Dir, filepath.Join(copiedFolder, folder), m.module, copiedPath+folder); err != nil {
			return fmt.Errorf("copying %s %s: %w", m.module, m.version, err)
		}
	}
	return nil
}

// copyModule copies a module without its tests to a folder of another module, in which it has another import path. Its internal packages are in folders
// called "visible", so that other packages may import them.
func copyModule(from, to, module, path string) error {
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(file, from)
		target := to + visible(name)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case !entry.Type().IsRegular(), strings.HasSuffix(name, "_test.go"), name == "/go.mod", name == "/go.sum":
			return nil
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".go") {
			if content, err = withImports(content, module, path); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return os.WriteFile(target, content, 0o644)
	})
}

// visible returns the path of a folder or a package as it is in a copy.
func visible(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if part == "internal" {
			parts[i] = "visible"
		}
	}
	return strings.Join(parts, "/")
}

// withImports returns a file in which the imports of a module's packages are those of its copy, in the order of the new paths.
func withImports(content []byte, module, path string) ([]byte, error) {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, "", content, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var changed []byte
	done := 0
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		below, ok := strings.CutPrefix(imported, module)
		if !ok || below != "" && below[0] != '/' {
			continue
		}
		begin := positions.Position(spec.Path.Pos()).Offset
		changed = append(append(changed, content[done:begin]...), strconv.Quote(path+visible(below))...)
		done = begin + len(spec.Path.Value)
	}
	return format.Source(append(changed, content[done:]...))
}
