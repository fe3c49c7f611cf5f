// Package chainsaw runs the real chainsaw, with which operators are tested end to end, against `fakecluster serve --workloads`, by a scripted session:
// its tests install a Deployment as a chart does, assert, fail, catch errors and clean up.
package chainsaw

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"

	"github.com/fakecluster/fakecluster/conformance/cache"
	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/integration"
	"github.com/fakecluster/fakecluster/conformance/kubectl"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// version is the release of chainsaw.
const version = "v0.2.12"

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "chainsaw.txt",
	Comment: `The commands of chainsaw/session.txt, and whether they print what that says.
Written by "go run . -only chainsaw -update".`,
}

// Whole is the session of chainsaw.
func Whole() kubectl.Session {
	return kubectl.Session{Path: "chainsaw/session.txt", Folder: "chainsaw/testdata", Build: build}
}

// modulePath is a method that package testing asks chainsaw for in releases of Go after the one that it was written for.
//
//go:embed modulepath.go.txt
var modulePath []byte

// build builds chainsaw with the libraries of its own go.mod, once, because that takes minutes.
func build(ctx context.Context) (string, error) {
	return cache.Program("chainsaw-"+version+"/chainsaw", func(path string) error {
		module, err := integration.CopyVersion(ctx, "github.com/kyverno/chainsaw", version)
		if err != nil {
			return err
		}
		work, err := os.MkdirTemp("", "fakecluster-chainsaw-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		added := filepath.Join(work, "modulepath.go")
		if err := os.WriteFile(added, modulePath, 0o600); err != nil {
			return err
		}
		list, err := gotool.Overlay(map[string]string{filepath.Join(module, "pkg/runner/internal/modulepath.go"): added})
		if err != nil {
			return err
		}
		overlay := filepath.Join(work, "overlay.json")
		if err := os.WriteFile(overlay, list, 0o600); err != nil {
			return err
		}
		_, err = gotool.Output(ctx, module, "build", "-overlay="+overlay, "-o", path, ".")
		return err
	})
}
