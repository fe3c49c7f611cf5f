package remote

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The module of the program, and this one.
const (
	mainModule = "github.com/fakecluster/fakecluster"
	thisModule = mainModule + "/remote"
)

// programVariable is the environment variable that names the program.
const programVariable = "FAKECLUSTER"

// program is the program fakecluster.
type program struct {
	path string
	from string // how it was found
}

// findProgram finds the program, and builds it if there is none.
func findProgram() (program, error) {
	if path := os.Getenv(programVariable); path != "" {
		found, err := exec.LookPath(path)
		if err == nil {
			found, err = filepath.Abs(found)
		}
		if err != nil {
			return program{}, fmt.Errorf("%s=%s is not a program: %w; set it to the path of fakecluster, or to nothing", programVariable, path, err)
		}
		return program{found, programVariable}, nil
	}
	if path, err := exec.LookPath("fakecluster"); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			return program{path, "PATH"}, nil
		}
	}
	return buildProgram(moduleVersion())
}

// moduleVersion returns the version of this module, which is the version of the program to build.
func moduleVersion() string {
	_, file, _, _ := runtime.Caller(0)
	return versionOf(file)
}

// versionOf returns the version of this module from the path of one of its files, because a test binary does
// not record its modules. The folder of a module in Go's cache has the version in its name, even with
// -trimpath. Vendored modules are listed in vendor/modules.txt. Without either it returns latest.
func versionOf(file string) string {
	file = filepath.ToSlash(file)
	if _, after, ok := strings.Cut(file, thisModule+"@"); ok {
		version, _, _ := strings.Cut(after, "/")
		return version
	}
	if module, _, ok := strings.Cut(file, "/vendor/"+thisModule+"/"); ok {
		list, _ := os.ReadFile(module + "/vendor/modules.txt") // without it the version is not known
		for _, line := range strings.Split(string(list), "\n") {
			if version, ok := strings.CutPrefix(line, "# "+thisModule+" "); ok && !strings.Contains(version, "=>") {
				return strings.TrimSpace(version)
			}
		}
	}
	return "latest"
}

// buildProgram builds the program of a version into the user's cache folder, unless it is there.
func buildProgram(version string) (program, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return program{}, err
	}
	folder := filepath.Join(cache, "fakecluster", "bin", version)
	path := filepath.Join(folder, "fakecluster")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if _, err := os.Stat(path); err == nil {
		return program{path, "built before"}, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return program{}, err
	}
	// The program is renamed to its path when it is complete, because other tests may look for it.
	building, err := os.MkdirTemp(folder, "building-")
	if err != nil {
		return program{}, err
	}
	defer os.RemoveAll(building)
	target := mainModule + "/cmd/fakecluster@" + version
	fmt.Fprintf(os.Stderr, "fakecluster: building %s, once, which takes a few minutes\n", target)
	// Without these tags, gRPC's page of traces and the Go plugins of kustomize would make the linker keep methods that nothing calls.
	cmd := exec.Command("go", "install", "-trimpath", "-tags=grpcnotrace,kustomize_disable_go_plugin_support", target)
	cmd.Dir = building // outside of the module of the test
	cmd.Env = append(os.Environ(), "GOBIN="+building, "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=auto", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return program{}, fmt.Errorf("there is no program fakecluster, and go install %s fails: %w\n%s\nbuild it, and put it on the PATH or its path into %s", target, err, strings.TrimSpace(string(out)), programVariable)
	}
	if err := os.Rename(filepath.Join(building, filepath.Base(path)), path); err != nil {
		return program{}, fmt.Errorf("go install %s has not made the program: %w", target, err)
	}
	return program{path, "built now"}, nil
}

// build identifies an executable as the host does: by its size and the time of its last change.
func (p program) build() string {
	info, err := os.Stat(p.path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
}

// startHost starts the host in the background, if none runs, and returns the address that it prints after
// "ready", in words.
func (p program) startHost(args ...string) ([]string, error) {
	cmd := exec.Command(p.path, append([]string{"host", "--background"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		said := err.Error()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
			said = strings.TrimPrefix(strings.TrimSpace(string(exit.Stderr)), "fakecluster: ")
		}
		return nil, fmt.Errorf("%s (found by %s): %s", p.path, p.from, said)
	}
	words := strings.Fields(string(out))
	if len(words) < 2 || words[0] != "ready" {
		return nil, fmt.Errorf("%s host (found by %s) prints %q in place of its address: it is not a fakecluster, or too old; set %s to the path of another one", p.path, p.from, out, programVariable)
	}
	return words[1:], nil
}
