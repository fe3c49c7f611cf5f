package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/fakecluster/fakecluster/conformance/cache"
	"github.com/fakecluster/fakecluster/conformance/gotool"
)

// older are the releases of the minor versions that fakecluster can behave as.
var older = map[string]string{"1.34": "v1.34.4", "1.35": "v1.35.4", "1.36": "v1.36.3"}

// Older returns a folder with the real kube-apiserver of an older minor version, such as 1.35, and the etcd of Folder. It builds
// kube-apiserver unless it has been built before, which takes some minutes.
func Older(ctx context.Context, modules, minor string) (string, error) {
	release, err := Release(minor)
	if err != nil {
		return "", err
	}
	newest, err := versions(ctx, modules)
	if err != nil {
		return "", err
	}
	folder, err := cache.Folder()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(folder, "programs-kubernetes-"+release+"-etcd-"+newest[etcd])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := cache.Lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := build(ctx, modules, dir, newest[kubernetes], Etcd); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, APIServer)); err == nil {
		return dir, nil
	}
	module, err := os.MkdirTemp("", "kubernetes-"+release+"-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(module)
	if err := writeModule(ctx, module, release); err != nil {
		return "", err
	}
	return dir, build(ctx, module, dir, release, APIServer, "-mod=mod")
}

// Release returns the release of an older minor version.
func Release(minor string) (string, error) {
	if older[minor] == "" {
		return "", fmt.Errorf("there is no older version %q: write one of %s", minor, strings.Join(OlderVersions(), ", "))
	}
	return older[minor], nil
}

// OlderVersions returns the older minor versions, the oldest first.
func OlderVersions() []string { return slices.Sorted(maps.Keys(older)) }

// Newest returns the release of Kubernetes of the module that names the versions.
func Newest(ctx context.Context, modules string) (string, error) {
	required, err := versions(ctx, modules)
	return required[kubernetes], err
}

// writeModule writes the go.mod of a module with the programs of a release. The go.mod of k8s.io/kubernetes replaces the modules that are
// published from its tree by folders, which a module that requires it does not see: they are required in the version of the release. The go command
// writes the go.sum, from the checksum database.
func writeModule(ctx context.Context, folder, release string) error {
	out, err := gotool.Output(ctx, folder, "mod", "download", "-json", kubernetes+"@"+release)
	if err != nil {
		return err
	}
	var downloaded struct{ GoMod string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return err
	}
	text, err := os.ReadFile(downloaded.GoMod)
	if err != nil {
		return err
	}
	made, err := moduleFor(text, release)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "go.mod"), made, 0o644)
}

// moduleFor returns the go.mod of writeModule, from that of k8s.io/kubernetes.
func moduleFor(text []byte, release string) ([]byte, error) {
	published, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		return nil, err
	}
	own := &modfile.File{}
	staging := "v0" + strings.TrimPrefix(release, "v1")
	errs := []error{own.AddModuleStmt("github.com/fakecluster/fakecluster/conformance/real/older"), own.AddGoStmt(published.Go.Version), own.AddRequire(kubernetes, release)}
	for _, r := range published.Require {
		if r.Mod.Version == "v0.0.0" {
			errs = append(errs, own.AddRequire(r.Mod.Path, staging))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return own.Format()
}
