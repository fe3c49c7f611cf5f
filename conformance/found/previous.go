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
	"strings"
)

// A program has one version of a module. So the version before the one in go.mod is copied to another import path, for the tests of upgrades.
const (
	previousFolder = modules + "/previous" // not committed
	previousPath   = "github.com/fakecluster/fakecluster/conformance/found/modules/previous/"
	previousTag    = "previous" // the build tag of tests that need the copies
)

// previous are the modules in previousFolder.
var previous = []struct{ folder, module, version string }{
	{"trustmanager", "github.com/cert-manager/trust-manager", "v0.24.0"},
}

// copyPrevious copies the modules, with the import paths of the copies.
func copyPrevious(ctx context.Context) error {
	if err := os.RemoveAll(previousFolder); err != nil {
		return err
	}
	for _, m := range previous {
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
		if err := copyModule(downloaded.Dir, filepath.Join(previousFolder, m.folder), m.module, previousPath+m.folder); err != nil {
			return fmt.Errorf("copying %s %s: %w", m.module, m.version, err)
		}
	}
	return nil
}

// copyModule copies a module without its tests to a folder of another module, in which it has another import path.
func copyModule(from, to, module, path string) error {
	imports := strings.NewReplacer(`"`+module+`/`, `"`+path+`/`, `"`+module+`"`, `"`+path+`"`)
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case !entry.Type().IsRegular(), strings.HasSuffix(name, "_test.go"), name == "go.mod", name == "go.sum":
			return nil
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".go") {
			if content, err = format.Source([]byte(imports.Replace(string(content)))); err != nil { // in the order of the new paths
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return os.WriteFile(target, content, 0o644)
	})
}
