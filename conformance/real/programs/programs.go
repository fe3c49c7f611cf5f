// Package programs builds the real programs, kube-apiserver, kube-controller-manager, kube-scheduler, etcd and kubectl,
// from their published modules. Their versions stand in ../modules/go.mod.
package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fakecluster/fakecluster/conformance/cache"
	"github.com/fakecluster/fakecluster/conformance/gotool"
)

const (
	kubernetes = "k8s.io/kubernetes"
	etcd       = "go.etcd.io/etcd/server/v3"
)

// packages are what the programs are built from, by their names.
var packages = map[string]string{
	"kube-apiserver":          kubernetes + "/cmd/kube-apiserver",
	"kube-controller-manager": kubernetes + "/cmd/kube-controller-manager",
	"kube-scheduler":          kubernetes + "/cmd/kube-scheduler",
	"kubectl":                 kubernetes + "/cmd/kubectl",
	"etcd":                    etcd,
}

// Folder returns a folder with the programs, for KUBEBUILDER_ASSETS. It builds them unless they have
// been built in these versions before, which takes some minutes. modules is the folder of the module
// that names the versions.
func Folder(ctx context.Context, modules string) (string, error) {
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
	for name, pkg := range packages {
		program := filepath.Join(dir, name)
		if _, err := os.Stat(program); err == nil {
			continue
		}
		// The go command may be interrupted while it writes.
		unfinished := program + ".unfinished"
		if _, err := gotool.Output(ctx, modules, "build", "-ldflags", LinkerFlags(versions[kubernetes]), "-o", unfinished, pkg); err != nil {
			return "", errors.Join(fmt.Errorf("building %s: %w", name, err), os.RemoveAll(unfinished))
		}
		if err := os.Rename(unfinished, program); err != nil {
			return "", err
		}
	}
	return dir, nil
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
