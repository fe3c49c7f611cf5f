package fakecluster

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// noModule begins what ModulePath returns in place of a path when there is none.
const noModule = "ModulePath: "

// ModulePath returns the path of a file or folder in a Go module that the module of the test requires, such
// as the definitions of another project:
//
//	fakecluster.WithCRDPaths(fakecluster.ModulePath("sigs.k8s.io/gateway-api", "config/crd/standard"))
//
// The path has the separator /. The version is that of the go.mod of the test. ModulePath runs the go
// command, which downloads the module if it is not in the module cache; call it outside of
// testing/synctest bubbles. If the module cannot be found, the option to which the path is given fails and
// says why.
func ModulePath(module, path string) string {
	dir, err := moduleDir(module)
	if err != nil {
		return fmt.Sprintf("%s%q: %v", noModule, module, err)
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}

// moduleDir returns the folder of a module that the present one requires.
func moduleDir(module string) (string, error) {
	if module == "" || strings.HasPrefix(module, "-") || strings.ContainsAny(module, " @") {
		return "", errors.New("this is not the path of a module, such as sigs.k8s.io/gateway-api")
	}
	list := func() (string, error) { return goCommand("list", "-m", "-f", "{{.Dir}}", module) }
	dir, err := list()
	if err == nil && dir == "" { // it is not in the module cache
		if _, err = goCommand("mod", "download", module); err == nil {
			dir, err = list()
		}
	}
	if err != nil && strings.HasSuffix(err.Error(), ": not a known dependency") {
		err = fmt.Errorf("the go.mod of the test does not require this module: run go get %s", module)
	}
	if err == nil && dir == "" {
		err = errors.New("the go command does not have its source; with a vendor folder, name the path of a folder instead")
	}
	return dir, err
}

func goCommand(arguments ...string) (string, error) {
	out, err := exec.Command("go", arguments...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.New(strings.TrimPrefix(strings.TrimSpace(string(exit.Stderr)), "go: "))
	}
	return strings.TrimSpace(string(out)), err
}
