package main

import (
	"context"
	"encoding/json"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// copyModules copies the modules for the tests in these folders. Where one cannot be downloaded, only those tests cannot be run.
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
	visible := strings.NewReplacer("/internal/", "/visible/")
	imports := regexp.MustCompile(`"` + regexp.QuoteMeta(module) + `(/[^"]*)?"`)
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(file, from)
		target := to + strings.TrimSuffix(visible.Replace(name+"/"), "/")
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
			content = imports.ReplaceAllFunc(content, func(quoted []byte) []byte {
				return []byte(`"` + path + strings.TrimSuffix(visible.Replace(strings.Trim(string(quoted), `"`)[len(module):]+"/"), "/") + `"`)
			})
			if content, err = format.Source(content); err != nil { // in the order of the new paths
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return os.WriteFile(target, content, 0o644)
	})
}
