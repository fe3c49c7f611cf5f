// Package programs builds the real programs, kube-apiserver, kube-controller-manager, kube-scheduler, etcd and kubectl,
// from their published modules. Their versions stand in ../modules/go.mod.
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

	"github.com/fakecluster/fakecluster/conformance/cache"
	"github.com/fakecluster/fakecluster/conformance/gotool"
)

const (
	kubernetes = "k8s.io/kubernetes"
	etcd       = "go.etcd.io/etcd/server/v3"
)

// The names of the programs that an API server consists of.
const (
	APIServer = "kube-apiserver"
	Etcd      = "etcd"
)

// packages are what the programs are built from, by their names.
var packages = map[string]string{
	APIServer:                 kubernetes + "/cmd/kube-apiserver",
	"kube-controller-manager": kubernetes + "/cmd/kube-controller-manager",
	"kube-scheduler":          kubernetes + "/cmd/kube-scheduler",
	"kubectl":                 kubernetes + "/cmd/kubectl",
	Etcd:                      etcd,
}

// Folder returns a folder with the programs of the given names, all by default, for KUBEBUILDER_ASSETS. It builds
// them unless they have been built in these versions before, which takes some minutes. modules is the folder of the module
// that names the versions.
func Folder(ctx context.Context, modules string, names ...string) (string, error) {
	versions, err := versions(ctx, modules)
	if err != nil {
		return "", err
	}
	folder, err := cache.Folder()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(folder, "programs-kubernetes-"+versions[kubernetes]+"-etcd-"+versions[etcd])
	lock, err := cache.Lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(packages))
	}
	for _, name := range names {
		if err := build(ctx, modules, dir, versions[kubernetes], name); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// build builds a program into a folder, unless it is there. modules is the folder of the module to build it in.
func build(ctx context.Context, modules, dir, release, name string, flags ...string) error {
	program := filepath.Join(dir, name)
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	// The go command may be interrupted while it writes.
	unfinished := program + ".unfinished"
	args := append([]string{"build", "-ldflags", LinkerFlags(release), "-o", unfinished}, flags...)
	if _, err := gotool.Output(ctx, modules, append(args, packages[name])...); err != nil {
		return errors.Join(fmt.Errorf("building %s: %w", name, err), os.RemoveAll(unfinished))
	}
	return os.Rename(unfinished, program)
}

// versions returns those of the modules that the programs come from.
func versions(ctx context.Context, modules string) (map[string]string, error) {
	found := map[string]string{}
	for _, path := range []string{kubernetes, etcd} {
		out, err := gotool.Output(ctx, modules, "list", "-m", "-json", path)
		if err != nil {
			return nil, err
		}
		var module struct{ Version string }
		if err := json.Unmarshal(out, &module); err != nil {
			return nil, err
		}
		found[path] = module.Version
	}
	return found, nil
}

// LinkerFlags set the version of kube-apiserver, kubectl and the e2e suite, as Kubernetes' own build does,
// and leave out what only a debugger reads.
func LinkerFlags(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, variable := range []string{"gitVersion=" + version, "gitMajor=" + major, "gitMinor=" + minor, "gitTreeState=clean"} {
			flags = append(flags, "-X", pkg+"."+variable)
		}
	}
	return strings.Join(flags, " ")
}
