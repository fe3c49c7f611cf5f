package remote

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// startChild runs this test binary as a program that starts a cluster, and returns the words of its line: the process of its host, and
// the name, the URL and the token of the cluster.
func startChild(t *testing.T, env ...string) (child *exec.Cmd, words []string) {
	t.Helper()
	child = exec.Command(os.Args[0])
	child.Env = append(append(os.Environ(), asChild+"=1"), env...)
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	words = strings.Fields(line)
	if err != nil || len(words) != 6 || words[0] != "started" || words[5] != "<nil>" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return child, words[1:5]
}

// A process whose environment asks for a version, for an older one that can read what is stored, or for gates gets clusters of a host that
// behaves so.
func TestClustersHaveTheVersionOfTheEnvironment(t *testing.T) {
	c := Start(t)
	ourHost, err := c.host.process()
	if err != nil {
		t.Fatal(err)
	}
	versionIs(t, c.URL(), c.Token(), "37 36")
	for env, want := range map[string]string{
		versionVariable + "=1.35": "35 34", minCompatibilityVariable + "=1.35": "37 35", gatesVariable + "=HPAScaleToZero=false": "37 36",
	} {
		_, words := startChild(t, env)
		pid, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatal(err)
		}
		host, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = host.Kill() })
		if pid == ourHost {
			t.Errorf("%s: the host is that of the others", env)
		}
		versionIs(t, words[2], words[3], want)
	}
}

// synctestTest is synctest.Test; nil: this Go has no bubbles.
var synctestTest func(t *testing.T, run func(t *testing.T))

// A test has clusters of several versions, also in a bubble, and a fork has the version of its origin.
func TestClustersOfSeveralVersions(t *testing.T) {
	t.Cleanup(func() { killHostOf(t, "1.36") })
	newest, older := Start(t), Start(t, KubernetesVersion("1.36"))
	versionIs(t, newest.URL(), newest.Token(), "37 36")
	versionIs(t, older.URL(), older.Token(), "36 35")
	fork := older.Fork(t)
	versionIs(t, fork.URL(), fork.Token(), "36 35")
	if synctestTest != nil {
		synctestTest(t, func(t *testing.T) {
			fork, older, newest := older.Fork(t), Start(t, KubernetesVersion("1.36")), Start(t)
			time.Sleep(time.Hour)
			for c, want := range map[*Cluster]any{fork: "36", older: "36", newest: "37"} {
				u := admin(t, c)
				if got := u.must("GET", "/version", "")["minor"]; got != want {
					t.Errorf("a cluster in a bubble has the minor version %v, want %v", got, want)
				}
				created := u.must("POST", maps, configMap("a"))["metadata"].(map[string]any)["creationTimestamp"]
				if want := time.Now().UTC().Format(time.RFC3339); created != want {
					t.Errorf("created at %v, want %v", created, want)
				}
			}
		})
	}
	if _, err := New(KubernetesVersion("1.30")); err == nil || err.Error() != `kubernetesVersion: fakecluster does not have Kubernetes "1.30": write 1.34, 1.35, 1.36 or 1.37` {
		t.Errorf("a version that does not exist: %v", err)
	}
}

// killHostOf ends the host of an older version, which would end by itself after a minute.
func killHostOf(t *testing.T, version string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	other, err := newConnection(program{}, "unix:"+filepath.Join(cache, "fakecluster", "host-"+version, "host.sock"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := other.process()
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	_ = process.Kill()
}

// versionIs checks the minor versions of a cluster: the one that it behaves as, and the oldest one that can read what it stores.
func versionIs(t *testing.T, url, token, want string) {
	t.Helper()
	req, err := http.NewRequest("GET", url+"/version", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var version struct{ EmulationMinor, MinCompatibilityMinor string }
	err = json.NewDecoder(answer.Body).Decode(&version)
	if got := version.EmulationMinor + " " + version.MinCompatibilityMinor; err != nil || got != want {
		t.Errorf("%s has the minor versions %s, %v, want %s", url, got, err, want)
	}
}

// The clusters of a process that is killed end, and those of others go on.
func TestAKilledProcessLosesItsClusters(t *testing.T) {
	kept := Start(t)
	child, words := startChild(t)
	req, err := http.NewRequest("GET", words[2]+"/api/v1/namespaces?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+words[3])
	watch, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	if err := child.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, watch.Body) // returns when the cluster ends
	var left struct{ Clusters []string }
	if err := kept.host.do(context.Background(), "GET", "/v1/clusters", nil, &left); err != nil || !slices.Contains(left.Clusters, kept.description.Cluster) || slices.Contains(left.Clusters, words[1]) {
		t.Errorf("clusters %q, %v; %s was that of the killed process", left.Clusters, err, words[1])
	}
	admin(t, kept).must("GET", "/api/v1/namespaces", "")
}

// Processes that start at the same time share a host.
func TestStartersShareAHost(t *testing.T) {
	folder, err := os.MkdirTemp("", "fc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	const n = 4
	pids := make(chan string, n)
	for i := 0; i < n; i++ {
		go func() {
			pid := "no host"
			defer func() { pids <- pid }()
			_, words := startChild(t, "XDG_CACHE_HOME="+folder)
			pid = words[0]
		}()
	}
	hosts := map[string]int{}
	for i := 0; i < n; i++ {
		hosts[<-pids]++
	}
	if len(hosts) != 1 || hosts["no host"] > 0 {
		t.Errorf("hosts: %v", hosts)
	}
	for pid := range hosts {
		var number int
		if _, err := fmt.Sscan(pid, &number); err == nil {
			if process, err := os.FindProcess(number); err == nil {
				_ = process.Kill()
			}
		}
	}
}

// Where the program is looked for, and what the errors say.
func TestTheProgramIsFound(t *testing.T) {
	own := os.Getenv(programVariable)
	t.Run("by the environment variable", func(t *testing.T) {
		if p, err := findProgram(); err != nil || p.path != own || p.from != programVariable {
			t.Errorf("%+v, %v", p, err)
		}
	})
	t.Run("not by a variable that is wrong", func(t *testing.T) {
		t.Setenv(programVariable, "/nowhere/fakecluster")
		_, err := findProgram()
		if want := "FAKECLUSTER=/nowhere/fakecluster is not a program: "; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "; set it to the path of fakecluster, or to nothing") {
			t.Error(err)
		}
	})
	t.Run("on the PATH", func(t *testing.T) {
		folder := t.TempDir()
		if err := os.Symlink(own, filepath.Join(folder, "fakecluster")); err != nil {
			t.Skip(err)
		}
		t.Setenv(programVariable, "")
		t.Setenv("PATH", folder)
		if p, err := findProgram(); err != nil || p.path != filepath.Join(folder, "fakecluster") || p.from != "PATH" || p.build() == "" {
			t.Errorf("%+v, %v", p, err)
		}
	})
	t.Run("among those that were built", func(t *testing.T) {
		cache := t.TempDir()
		t.Setenv(programVariable, "")
		t.Setenv("PATH", "")
		t.Setenv("XDG_CACHE_HOME", cache)
		_, err := buildProgram("v9.9.9")
		if want := "there is no program fakecluster, and go install github.com/fakecluster/fakecluster/cmd/fakecluster@v9.9.9 fails: "; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "\nbuild it, and put it on the PATH or its path into FAKECLUSTER") {
			t.Error(err)
		}
		path := filepath.Join(cache, "fakecluster", "bin", "v9.9.9", "fakecluster")
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if p, err := buildProgram("v9.9.9"); err != nil || p.path != path || p.from != "built before" {
			t.Errorf("%+v, %v", p, err)
		}
	})
	t.Run("not if it is another one", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "fakecluster")
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho hello\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := (program{path, "PATH"}).startHost()
		if want := path + ` host (found by PATH) prints "hello\n" in place of its address: it is not a fakecluster, or too old; set FAKECLUSTER to the path of another one`; err == nil || err.Error() != want {
			t.Error(err)
		}
	})
}

// The program is built from the module proxy, once, and nothing else is left behind.
func TestTheProgramIsBuiltOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it compiles programs with an empty cache of modules")
	}
	const version = "v1.9.9"
	proxy, cache := t.TempDir(), t.TempDir()
	publish(t, proxy, version, `package main

import "os"

func main() { os.Stdout.WriteString("ready unix:built.sock\n") }
`)
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Cleanup(func() { _ = exec.Command("go", "clean", "-modcache").Run() }) // which is read-only
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GONOSUMDB", mainModule)
	t.Setenv("GOCACHE", goCache(t))
	t.Setenv("XDG_CACHE_HOME", cache)
	p, err := buildProgram(version)
	folder := filepath.Join(cache, "fakecluster", "bin", version)
	if err != nil || p.path != filepath.Join(folder, "fakecluster") || p.from != "built now" {
		t.Fatalf("%+v, %v", p, err)
	}
	if where, err := p.startHost(); err != nil || !slices.Equal(where, []string{"unix:built.sock"}) {
		t.Errorf("the program that was built says %q, %v", where, err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("in its folder are %v, %v", left, err)
	}
	t.Setenv("GOPROXY", "off") // from now on, the machine is offline
	if again, err := buildProgram(version); err != nil || again.path != p.path || again.from != "built before" {
		t.Errorf("%+v, %v", again, err)
	}
}

// goCache returns the cache of compiled packages, which would move with XDG_CACHE_HOME.
func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// publish makes a folder a proxy for Go modules that has one version of fakecluster, whose program is main.
func publish(t *testing.T, proxy, version, main string) {
	t.Helper()
	folder := filepath.Join(proxy, filepath.FromSlash(mainModule), "@v")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	mod := "module " + mainModule + "\n\ngo 1.22\n"
	var source bytes.Buffer
	archive := zip.NewWriter(&source)
	for name, content := range map[string]string{"go.mod": mod, "cmd/fakecluster/main.go": main} {
		w, err := archive.Create(mainModule + "@" + version + "/" + name)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"list": version, version + ".info": `{"Version": "` + version + `"}`, version + ".mod": mod, version + ".zip": source.String()}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A socket of another user is refused.
func TestTheFolderOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	folder := filepath.Join(cache, "fakecluster", "host")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chown(path, 65534, -1); err != nil {
			t.Fatal(err)
		}
		_, err := openHost()
		if want := path + " belongs to another user (uid 65534; yours is 0): remove it, or set XDG_CACHE_HOME (on macOS: HOME) to a folder of your own"; err == nil || err.Error() != want {
			t.Error(err)
		}
		if err := os.Chown(path, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
}

// A host on a port is used by its URL and token.
func TestAHostOnAPort(t *testing.T) {
	p, err := findProgram()
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.join("--listen", "0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if pid, err := c.process(); err == nil {
			if process, err := os.FindProcess(pid); err == nil {
				_ = process.Kill()
			}
		}
		c.open.Close()
	}()
	cluster, err := start(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	admin(t, cluster).must("GET", "/api/v1/namespaces", "")
	if err := cluster.Close(); err != nil {
		t.Error(err)
	}
	c.token = "x"
	if _, err := c.process(); err == nil || !strings.HasPrefix(err.Error(), "the header Authorization must be") {
		t.Error(err)
	}
}
