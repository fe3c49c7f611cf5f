package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/internal/host"
)

// hostCache gives the test a cache folder whose path is short enough for a socket, and returns the folder of the host.
func hostCache(t *testing.T) string {
	t.Helper()
	cache, err := os.MkdirTemp("", "fc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(cache) })
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache) // on macOS
	folder, err := hostFolder()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// hosted is a host command that runs in this process.
type hosted struct {
	words  []string // after ready
	stop   func()   // ends the command and returns its status
	stderr *strings.Builder
}

// startHost starts the command and returns when it has printed its line.
func startHost(t *testing.T, args ...string) hosted {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	status := make(chan int, 1)
	h := hosted{stderr: &strings.Builder{}}
	go func() {
		s := execute(ctx, append([]string{"host"}, args...), write, h.stderr)
		write.Close()
		status <- s
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	h.stop = sync.OnceFunc(func() {
		cancel()
		if s := <-status; s != 0 {
			t.Errorf("status %d, stderr %q", s, h.stderr)
		}
	})
	t.Cleanup(h.stop)
	words := strings.Fields(line)
	if err != nil || len(words) < 2 || words[0] != "ready" {
		t.Fatalf("the line %q, %v; stderr %q", line, err, h.stderr)
	}
	h.words = words[1:]
	return h
}

// infoOf asks a host for its description.
func infoOf(t *testing.T, client *http.Client, url, token string) (info host.Info, code int) {
	t.Helper()
	req, err := http.NewRequest("GET", url+"/v1/info", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	defer client.CloseIdleConnections()
	_ = json.NewDecoder(answer.Body).Decode(&info)
	return info, answer.StatusCode
}

// useHost opens a session, which lasts until the end of the test.
func useHost(t *testing.T, folder string) {
	t.Helper()
	client := unixClient(socketIn(folder))
	client.Timeout = 0
	answer, err := client.Post("http://fakecluster/v1/sessions", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close(); client.CloseIdleConnections() })
	if _, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
}

// Others cannot reach the socket, and it is gone at the end.
func TestTheSocketOfAHostIsOfItsOwnerAlone(t *testing.T) {
	folder := hostCache(t)
	h := startHost(t)
	socket := socketIn(folder)
	if h.words[0] != "unix:"+socket {
		t.Errorf("the address is %q, want unix:%s", h.words, socket)
	}
	for path, want := range map[string]os.FileMode{folder: 0o700, socket: 0o600} {
		if got := fileMode(t, path).Perm(); got != want {
			t.Errorf("the mode of %s is %#o, want %#o", path, got, want)
		}
	}
	if info, code := infoOf(t, unixClient(socket), "http://fakecluster", ""); code != 200 || info.PID != os.Getpid() {
		t.Errorf("the host: %d %+v", code, info)
	}
	h.stop()
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket after the end: %v", err)
	}
}

// Of many starters one becomes the host, and all print its address.
func TestStartersShareAHost(t *testing.T) {
	folder := hostCache(t)
	var clients sync.WaitGroup
	var mu sync.Mutex
	addresses, stops := map[string]int{}, []func(){}
	for range 8 {
		clients.Go(func() {
			h := startHost(t)
			mu.Lock()
			defer mu.Unlock()
			addresses[h.words[0]]++
			stops = append(stops, h.stop)
		})
	}
	clients.Wait()
	if len(addresses) != 1 || addresses["unix:"+socketIn(folder)] != 8 {
		t.Errorf("addresses: %v", addresses)
	}
	for _, stop := range stops {
		stop()
	}
}

// A host that was killed leaves its socket behind, which the next one replaces.
func TestAKilledHostIsReplaced(t *testing.T) {
	folder := hostCache(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	killed := exec.Command(self, "host")
	killed.Env = append(os.Environ(), asMain+"=1")
	out, err := killed.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready unix:"+socketIn(folder)+"\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_ = killed.Process.Kill()
	_ = killed.Wait()
	if _, err := os.Lstat(socketIn(folder)); err != nil {
		t.Fatalf("the killed host has not left its socket behind: %v", err)
	}
	startHost(t)
	if info, code := infoOf(t, unixClient(socketIn(folder)), "http://fakecluster", ""); code != 200 || info.PID != os.Getpid() {
		t.Errorf("the host: %d %+v", code, info)
	}
}

// A host of another build is replaced if nobody uses it. Otherwise the error says what to do.
func TestAHostOfAnotherBuild(t *testing.T) {
	folder := hostCache(t)
	other := host.Options{Version: unreleased, Build: "other", PID: 1}

	used := startHost(t)
	useHost(t, folder)
	if there, err := joinHost(folder, host.Options{Version: unreleased, Build: mustBuild(t)}); !there || err != nil {
		t.Errorf("its own build: %v, %v", there, err)
	}
	_, err := takePlace(t.Context(), folder, other, endTime)
	if want := fmt.Sprintf("a host of another build of fakecluster (%s) is in use at %s, and this is (devel): wait until its clients have ended, or end its process %d", thisBuild().Version, socketIn(folder), os.Getpid()); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	used.stop()

	unused := startHost(t)
	place, err := takePlace(t.Context(), folder, other, endTime)
	if err != nil || place == nil {
		t.Fatalf("an unused host is not replaced: %v", err)
	}
	place.started()
	_ = place.listener.Close()
	place.leave()
	unused.stop()
}

func mustBuild(t *testing.T) string {
	t.Helper()
	build, err := ownBuild()
	if err != nil {
		t.Fatal(err)
	}
	return build
}

// What listens in place of a host, and cannot be used.
func TestASocketThatCannotBeUsedIsRefused(t *testing.T) {
	folder := hostCache(t)
	socket := socketIn(folder)
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := takePlace(t.Context(), folder, host.Options{}, endTime); err == nil || err.Error() != socket+" is not a socket: remove it" {
		t.Error(err)
	}
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	running := startHost(t)
	if err := os.Chown(socket, 65534, -1); err != nil {
		t.Fatal(err)
	}
	_, err := takePlace(t.Context(), folder, host.Options{}, endTime)
	if want := socket + " belongs to another user (uid 65534; yours is 0), who could change its content: remove it, or " + elsewhere; err == nil || err.Error() != want {
		t.Errorf("the socket of a host that runs: %v\nwant %s", err, want)
	}
	running.stop()
	if err := os.Chown(folder, 65534, -1); err != nil {
		t.Fatal(err)
	}
	_, err = hostFolder()
	if want := folder + " belongs to another user (uid 65534; yours is 0), who could change its content: remove it, or " + elsewhere; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// A host whose socket is gone, or is something else, is not waited for longer than a host takes to end, nor beyond the context.
func TestAHostWithoutItsSocketIsNotWaitedForForEver(t *testing.T) {
	folder := hostCache(t)
	socket := socketIn(folder)
	running := startHost(t)
	defer running.stop()
	starting, err := awaitLock(t.Context(), filepath.Join(folder, "starting.lock"), endTime) // it answers before its start is over
	if err != nil {
		t.Fatal(err)
	}
	unlock(starting)
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	_, err = takePlace(t.Context(), folder, host.Options{}, time.Second)
	if want := fmt.Sprintf("the host that runs no longer has its socket %s, which was removed: end its process %d, and try again", socket, os.Getpid()); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := takePlace(interrupted, folder, host.Options{}, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("after SIGTERM: %v", err)
	}
	t.Setenv(asMain, "1")
	var stdout, stderr strings.Builder
	if status := execute(interrupted, []string{"host", "--background"}, &stdout, &stderr); status != 1 || stderr.String() != "fakecluster: host: interrupted before the host in the background was ready: context canceled\n" {
		t.Errorf("in the background, after SIGTERM: status %d, stderr %q", status, &stderr)
	}
	for what, make := range map[string]func() error{
		" is not a socket: remove it":                           func() error { return os.WriteFile(socket, nil, 0o600) },
		" is a symbolic link, which is not followed: remove it": func() error { return os.Symlink("elsewhere", socket) },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if _, err := takePlace(t.Context(), folder, host.Options{}, time.Hour); err == nil || err.Error() != socket+what {
			t.Errorf("%v, want %s", err, socket+what)
		}
		if err := os.Remove(socket); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheSocketOfALongCacheFolderIsRefused(t *testing.T) {
	cache := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	if _, err := hostFolder(); err == nil || !strings.HasSuffix(err.Error(), "is too long for a socket, whose path may have 103 bytes: "+elsewhere+" with a shorter path") {
		t.Error(err)
	}
}

// With --listen a host has a port and a token of its own.
func TestAHostOnAPort(t *testing.T) {
	h := startHost(t, "--listen", "0")
	if len(h.words) != 2 || !strings.HasPrefix(h.words[0], "http://127.0.0.1:") {
		t.Fatalf("the address is %q", h.words)
	}
	if _, code := infoOf(t, &http.Client{}, h.words[0], h.words[1]); code != 200 {
		t.Errorf("with the token: %d", code)
	}
	if _, code := infoOf(t, &http.Client{}, h.words[0], ""); code != 401 {
		t.Errorf("without the token: %d", code)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// A host in the background outlives the command that has started it.
func TestAHostInTheBackground(t *testing.T) {
	folder := hostCache(t)
	t.Setenv(asMain, "1") // for the host
	var stdout, stderr strings.Builder
	if status := execute(t.Context(), []string{"host", "--background"}, &stdout, &stderr); status != 0 || stdout.String() != "ready unix:"+socketIn(folder)+"\n" {
		t.Fatalf("status %d, stdout %q, stderr %q", status, &stdout, &stderr)
	}
	client := unixClient(socketIn(folder))
	defer client.CloseIdleConnections()
	info, code := infoOf(t, client, "http://fakecluster", "")
	if code != 200 || info.PID == os.Getpid() {
		t.Errorf("the host: %d %+v", code, info)
	}
	answer, err := client.Post("http://fakecluster/v1/end", "application/json", nil)
	if err != nil || answer.StatusCode != 204 {
		t.Fatalf("the end: %v, %v", answer, err)
	}
	answer.Body.Close()
}

// The log of a host that has died outlives the next hosts, until one of them has a log, too.
func TestTheLogOfADeadHostIsKept(t *testing.T) {
	folder := t.TempDir()
	for i, step := range []struct{ log, current, former string }{
		{"panic 1", "panic 1", ""},
		{"", "", "panic 1"},
		{"panic 2", "panic 2", "panic 1"},
		{"", "", "panic 2"},
	} {
		log := filepath.Join(folder, "starting.log")
		if err := os.WriteFile(log, []byte(step.log), 0o600); err != nil {
			t.Fatal(err)
		}
		keepLog(folder, log)
		current, _ := os.ReadFile(filepath.Join(folder, "host.log"))
		former, _ := os.ReadFile(filepath.Join(folder, "host.former.log"))
		if string(current) != step.current || string(former) != step.former {
			t.Errorf("after host %d: host.log %q, host.former.log %q", i+1, current, former)
		}
	}
}

// A command that finds a running host leaves the log of that host alone.
func TestTheLogOfARunningHostIsNotReplaced(t *testing.T) {
	folder := hostCache(t)
	t.Setenv(asMain, "1")
	var first os.FileInfo
	for range 2 {
		var stdout, stderr strings.Builder
		if status := execute(t.Context(), []string{"host", "--background"}, &stdout, &stderr); status != 0 {
			t.Fatalf("status %d, stderr %q", status, &stderr)
		}
		info, err := os.Stat(filepath.Join(folder, "host.log"))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = info
		}
		if !os.SameFile(first, info) {
			t.Error("host.log is another file")
		}
	}
	client := unixClient(socketIn(folder))
	defer client.CloseIdleConnections()
	if answer, err := client.Post("http://fakecluster/v1/end", "application/json", nil); err != nil {
		t.Error(err)
	} else {
		answer.Body.Close()
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "starting-*.log")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// What a host in the background prints when it cannot start is the error of the command.
func TestAHostInTheBackgroundThatCannotStart(t *testing.T) {
	folder := hostCache(t)
	t.Setenv(asMain, "1")
	if err := os.WriteFile(socketIn(folder), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	status := execute(t.Context(), []string{"host", "--background"}, &stdout, &stderr)
	if want := "fakecluster: host: in the background: " + socketIn(folder) + " is not a socket: remove it\n"; status != 1 || stderr.String() != want {
		t.Errorf("status %d, stderr %q, want %q", status, &stderr, want)
	}
}
