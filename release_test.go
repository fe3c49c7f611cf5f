package fakecluster_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// published writes the files of a release into a folder: a program for this machine that prints its arguments, and the checksums.
func published(t *testing.T, version string) (folder, file string) {
	t.Helper()
	folder = t.TempDir()
	file = filepath.Join(folder, fmt.Sprintf("fakecluster-%s-%s-%s.tar.gz", version, runtime.GOOS, runtime.GOARCH))
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped := gzip.NewWriter(f)
	archive := tar.NewWriter(zipped)
	program := "#!/bin/sh\necho \"$FAKECLUSTER_KUBERNETES_VERSION $@\"\n"
	err = archive.WriteHeader(&tar.Header{Name: "fakecluster", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = archive.Write([]byte(program))
	}
	for _, c := range []interface{ Close() error }{archive, zipped} {
		if err == nil {
			err = c.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "SHA256SUMS"), fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(content), filepath.Base(file)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder, file
}

// action is action.yml, as far as it is run here.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Run string
			Env map[string]string
		}
	}
}

// runAction runs the scripts of action.yml as GitHub does, without its cache, and returns what the steps that follow have: the folders
// for the PATH, and the environment.
func runAction(t *testing.T, releases string, inputs map[string]string) (path, env, output string, err error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	values := map[string]string{"github.action_path": repository, "runner.temp": temp}
	for name, input := range a.Inputs {
		values["inputs."+name] = input.Default
	}
	for name, value := range inputs {
		values["inputs."+name] = value
	}
	expression := regexp.MustCompile(`\$\{\{ ([a-z._-]+) \}\}`)
	for _, step := range a.Runs.Steps {
		if step.Run == "" {
			continue // actions/cache
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", step.Run)
		cmd.Env = append(os.Environ(), "RELEASES="+releases, "GITHUB_PATH="+filepath.Join(temp, "path"), "GITHUB_ENV="+filepath.Join(temp, "env"))
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
				value, ok := values[expression.FindStringSubmatch(e)[1]]
				if !ok {
					t.Errorf("action.yml: %s has no value", e)
				}
				return value
			}))
		}
		out, err := cmd.CombinedOutput()
		output += strings.ReplaceAll(string(out), temp, "TEMP")
		if err != nil {
			return "", "", output, err
		}
	}
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(temp, name))
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		return strings.ReplaceAll(string(content), temp, "TEMP")
	}
	return read("path"), read("env"), output, nil
}

// The GitHub Action installs the program of a release, and refuses one that is not what was published.
func TestTheActionInstallsARelease(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the action is not tested: %v", err)
		}
	}
	folder, file := published(t, "v0.1.0")
	releases := "file://" + folder
	for _, test := range []struct {
		rule             string
		inputs           map[string]string
		wantEnv, wantOut string
	}{
		{"a version", map[string]string{"version": "v0.1.0"}, "", " version\n"},
		{"envtest", map[string]string{"version": "v0.1.0", "envtest": "true"}, "KUBEBUILDER_ASSETS= envtest\n", " version\n"},
		{"an older Kubernetes with envtest", map[string]string{"version": "v0.1.0", "envtest": "true", "kubernetes-version": "1.35"},
			"FAKECLUSTER_KUBERNETES_VERSION=1.35\nKUBEBUILDER_ASSETS=1.35 envtest\n", "1.35 version\n"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Setenv("FAKECLUSTER_KUBERNETES_VERSION", "")
			path, env, out, err := runAction(t, releases, test.inputs)
			if err != nil || path != "TEMP/fakecluster\n" || env != test.wantEnv || out != test.wantOut {
				t.Errorf("%v\nPATH %q\nenvironment %q, want %q\noutput %q, want %q", err, path, env, test.wantEnv, out, test.wantOut)
			}
		})
	}
	t.Run("a version that does not exist", func(t *testing.T) {
		_, _, out, err := runAction(t, releases, map[string]string{"version": "v0.2.0"})
		if want := fmt.Sprintf("install: %s has no fakecluster-v0.2.0-%s-%s.tar.gz: is v0.2.0 a release?\n", releases, runtime.GOOS, runtime.GOARCH); err == nil || !strings.HasSuffix(out, want) {
			t.Errorf("%v, %q, want %q", err, out, want)
		}
	})
	t.Run("a file that was changed", func(t *testing.T) {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, out, err := runAction(t, releases, map[string]string{"version": "v0.1.0"})
		if want := "install: " + filepath.Base(file) + " does not have the checksum in SHA256SUMS\n"; err == nil || !strings.HasSuffix(out, want) {
			t.Errorf("%v, %q, want %q", err, out, want)
		}
	})
}
