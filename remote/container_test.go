//go:build go1.25

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
)

const pods = "/api/v1/namespaces/default/pods"

// pod is a Pod with a container of an image, and further fields of the container and of the specification.
func pod(name, image, container, spec string) string {
	return `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "` + name + `", "labels": {"app": "` + name + `"}}, "spec": {` + spec + `"containers": [{` + container + `"name": "c", "image": "` + image + `"}]}}`
}

// text returns the content of a path.
func (u user) text(path string) string {
	u.t.Helper()
	answer, err := u.open("GET", path, "")
	if err != nil {
		u.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return string(text)
}

// phase is a condition for the phase of a Pod.
func phase(phase string) Condition {
	return CEL(`object.status.?phase.orValue("") == "` + phase + `"`)
}

// A function finds its arguments, environment, files and streams, and its error is the exit code.
func TestAContainerIsAFunction(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		c := Start(t, Workloads("nodes: 1"), Image("ghcr.io/acme/job", func(_ context.Context, p *Container) error {
			var spec struct{ Metadata struct{ Name string } }
			if err := json.Unmarshal(p.Pod, &spec); err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "%s %s %s %q %q %s %s %s\n", p.Name, p.Image, spec.Metadata.Name, p.Command, p.Args, p.Dir, p.Hostname, p.Getenv("COLOR"))
			if p.IP == "" || bubbles.Inside() != (p.cluster.bubble != nil) {
				t.Errorf("address %q, in a bubble: %v", p.IP, bubbles.Inside())
			}
			text, err := p.ReadFile("/etc/config/key")
			fmt.Fprintf(p.Stdout, "%s %v\n", text, err)
			if err := p.WriteFile("/etc/config/key", nil, 0o600); !errors.Is(err, syscall.EROFS) {
				t.Errorf("writing to a ConfigMap: %v", err)
			}
			if _, err := p.ReadFile("/missing"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/missing") {
				t.Errorf("a missing file: %v", err)
			}
			if err := errors.Join(p.Mkdir("/work/sub"), p.WriteFile("/work/sub/a", []byte("written"), 0o600)); err != nil {
				t.Error(err)
			}
			text, err = p.ReadFile("../work/sub/a")
			fmt.Fprintf(p.Stdout, "%s %v\n", text, err)
			if err := p.Remove("/work"); err != nil {
				t.Error(err)
			}
			if n, err := p.Stdin.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("the input: %d %v", n, err)
			}
			switch p.Args[0] {
			case "exit":
				return Exit(7)
			case "panic":
				panic("out of order")
			case "goexit":
				runtime.Goexit()
			case "error":
				return errors.New("not today")
			}
			return nil
		}))
		u := admin(t, c)
		u.must("POST", maps, configMap("config"))
		for _, test := range []struct {
			name, phase, log string
			code             float64
		}{
			{"done", "Succeeded", "", 0},
			{"exit", "Failed", "", 7},
			{"error", "Failed", "not today\n", 1},
			{"panic", "Failed", "panic: out of order\n\ngoroutine ", 2},
			{"goexit", "Failed", "the function has ended its goroutine with runtime.Goexit, as t.Fatal and t.FailNow do; it must return\n", 2},
		} {
			u.must("POST", pods, pod(test.name, "ghcr.io/acme/job:1.0", `"command": ["run"], "args": ["`+test.name+`", "$(COLOR)"], "env": [{"name": "COLOR", "value": "red"}], "workingDir": "/home",
				"volumeMounts": [{"name": "config", "mountPath": "/etc/config"}],`, `"restartPolicy": "Never", "volumes": [{"name": "config", "configMap": {"name": "config", "items": [{"key": "n", "path": "key"}]}}], `))
			var got struct {
				Status struct {
					ContainerStatuses []struct {
						State struct{ Terminated struct{ ExitCode float64 } }
					}
				}
			}
			c.WaitFor(t, Named("v1", "Pod", "", test.name), phase(test.phase))
			if err := json.Unmarshal([]byte(u.text(pods+"/"+test.name)), &got); err != nil || got.Status.ContainerStatuses[0].State.Terminated.ExitCode != test.code {
				t.Errorf("%s: %+v %v", test.name, got, err)
			}
			want := `c ghcr.io/acme/job:1.0 ` + test.name + ` ["run"] ["` + test.name + `" "red"] /home ` + test.name + " red\n1 <nil>\nwritten <nil>\n" + test.log
			if log := u.text(pods + "/" + test.name + "/log"); !strings.HasPrefix(log, want) || test.name == "panic" && !strings.Contains(log, "container_test.go") || test.name != "panic" && log != want {
				t.Errorf("the log of %s is\n%swant\n%s", test.name, log, want)
			}
		}
	})
}

// A container listens behind a Service, is probed, and has a program for probes; another one calls it. Both end with SIGTERM, and act as their
// ServiceAccount.
func TestContainersOfANetwork(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		ended := make(chan string, 2)
		answers := make(chan string, 1)
		c := Start(t, Workloads("nodes: 1"), Image("server", func(ctx context.Context, p *Container) error {
			p.HandleExec("check", func(_ context.Context, command *ExecCommand) error {
				if command.Container != p {
					t.Error("the program is in another container")
				}
				fmt.Fprintf(command.Stdout, "checked %q", command.Args)
				return nil
			})
			l, err := p.Listen("tcp", ":8080")
			if err != nil {
				return err
			}
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				text, _ := io.ReadAll(req.Body)
				fmt.Fprintf(w, "%s %s %s", req.Method, req.URL.Path, text)
			})}
			go func() {
				<-ctx.Done()
				_ = server.Close()
			}()
			err = server.Serve(l)
			ended <- "server: " + err.Error()
			return nil
		}), Image("client", func(ctx context.Context, p *Container) error {
			cfg, err := p.Config()
			if err != nil {
				return err
			}
			me := user{t: t, url: cfg.Host, token: cfg.BearerToken, transport: p.Transport()}
			code, content := me.send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}`)
			if name := fmt.Sprint(content["status"]); code != 201 || !strings.Contains(name, "username:system:serviceaccount:default:default") {
				t.Errorf("the user: %d %v", code, content)
			}
			answer, err := p.HTTPClient().Post("http://server.default.svc/hello", "text/plain", strings.NewReader(strings.Repeat("x", 100_000)))
			if err != nil {
				return err
			}
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				return err
			}
			answer.Body.Close()
			if _, err := p.Dial(ctx, "tcp", "127.0.0.1:1"); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("a port of nobody: %v", err)
			}
			answers <- string(text)
			<-ctx.Done()
			ended <- "client"
			return nil
		}))
		u := admin(t, c)
		u.must("POST", "/api/v1/namespaces/default/services", `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "server"}, "spec": {"selector": {"app": "server"}, "ports": [{"port": 80, "targetPort": 8080}]}}`)
		u.must("POST", pods, pod("server", "server", `"readinessProbe": {"httpGet": {"port": 8080, "path": "/ready"}, "periodSeconds": 1}, "livenessProbe": {"exec": {"command": ["check", "alive"]}, "periodSeconds": 1},`, ""))
		c.WaitFor(t, Named("v1", "Pod", "", "server"), HasCondition("Ready"))
		u.must("POST", pods, pod("client", "client", "", ""))
		if got, want := <-answers, "POST /hello "+strings.Repeat("x", 100_000); got != want {
			t.Errorf("the answer: %.100s, %d bytes", got, len(got))
		}
		u.must("DELETE", pods+"/server", "")
		c.WaitFor(t, Named("v1", "Pod", "", "server"), Gone())
		if got := <-ended; got != "server: http: Server closed" {
			t.Errorf("the end: %s", got)
		}
		if err := c.EndWorkloads(); err != nil {
			t.Error(err)
		}
		if got := <-ended; got != "client" {
			t.Errorf("the end: %s", got)
		}
	})
}

// Containers of a fork in a bubble run in the bubble, and its time passes while they sleep.
func TestTimePassesInAContainer(t *testing.T) {
	base := Start(t, Image("ticker", func(ctx context.Context, p *Container) error {
		for range 3 {
			select {
			case <-time.After(time.Hour):
				fmt.Fprintln(p.Stdout, time.Now().UTC().Format(time.RFC3339))
			case <-ctx.Done():
				return nil
			}
		}
		return nil
	}))
	synctestTest(t, func(t *testing.T) {
		c := base.Fork(t)
		if err := c.RunWorkloads("nodes: 1"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		u := admin(t, c)
		u.must("POST", pods, pod("ticker", "ticker", "", `"restartPolicy": "Never", `))
		c.WaitFor(t, Named("v1", "Pod", "", "ticker"), phase("Succeeded").Within(4*time.Hour))
		within(t, "the end", time.Since(began), 3*time.Hour, 11*time.Minute)
		if log := u.text(pods + "/ticker/log"); !strings.HasPrefix(log, "2000-01-01T01:00:0") || strings.Count(log, "\n") != 3 {
			t.Errorf("the log: %s", log)
		}
	})
}

// A function that ignores SIGTERM is reported by its container and Pod.
func TestAFunctionThatDoesNotReturn(t *testing.T) {
	synctestTest(t, func(t *testing.T) {
		released := make(chan struct{})
		c, err := New(Workloads("nodes: 1"), Image("deaf", func(context.Context, *Container) error {
			<-released
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		u := admin(t, c)
		u.must("POST", pods, pod("deaf", "deaf", "", ""))
		c.WaitFor(t, Named("v1", "Pod", "", "deaf"), phase("Running"))
		u.must("DELETE", pods+"/deaf?gracePeriodSeconds=5", "")
		c.WaitFor(t, Named("v1", "Pod", "", "deaf"), Gone())
		close(released)
		err = c.Close()
		if want := "container c of pod default/deaf (image deaf) has not returned within 5s of SIGTERM; the function must return when its context is done"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the end: %v, want %s", err, want)
		}
	})
}

// A program of the machine runs the containers of an image, with a relative path.
func TestAProgramIsAnOption(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("programs run on Linux")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$@\"\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(folder, script)
	if err != nil {
		t.Fatal(err)
	}
	c := Start(t, Program("tool", relative, "first"), Workloads("nodes: 1"))
	u := admin(t, c)
	u.must("POST", pods, pod("tool", "tool", `"args": ["second"],`, `"restartPolicy": "Never", `))
	c.WaitFor(t, Named("v1", "Pod", "", "tool"), phase("Failed"))
	if log := u.text(pods + "/tool/log"); log != "first second\n" {
		t.Errorf("the log: %s", log)
	}
}

// Mistakes with images are one sentence.
func TestMistakesWithImages(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		run := func(context.Context, *Container) error { return nil }
		for _, test := range []struct {
			want    string
			options []Option
		}{
			{"Image: the function for a is nil", []Option{Image("a", nil)}},
			{"Program: there are no Nodes; give Workloads, too, such as remote.Workloads(\"nodes: 1\")", []Option{Program("a", "true")}},
			{"Image", []Option{Workloads("nodes: 1"), Image("a", run), Image("a", run)}},
			{"no-such-program", []Option{Workloads("nodes: 1"), Program("a", "./no-such-program")}},
		} {
			if c, err := New(test.options...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
				if err == nil {
					_ = c.Close()
				}
			}
		}
	})
	callables.Lock()
	defer callables.Unlock()
	if len(callables.handlers) != 0 || len(outerClusters.known) != 0 {
		t.Errorf("%d handlers and %d clusters are left", len(callables.handlers), len(outerClusters.known))
	}
}

// The containers of a client that is gone end in the host, and their functions get the end of their context.
func TestContainersEndWithTheirClient(t *testing.T) {
	base := Start(t)
	before := clusters(t, base)
	for range 3 {
		synctestTest(t, func(t *testing.T) {
			listens, ended := make(chan struct{}), make(chan struct{})
			c, err := New(Workloads("nodes: 1"), Image("wait", func(ctx context.Context, p *Container) error {
				defer close(ended)
				l, err := p.Listen("tcp", ":80")
				if err != nil {
					return err
				}
				go l.Accept()
				close(listens)
				<-ctx.Done()
				return nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			admin(t, c).must("POST", pods, pod("wait", "wait", "", ""))
			<-listens
			breakOff(t, c)
			if err := c.Close(); err == nil || !strings.Contains(err.Error(), "the host of the cluster has ended, or does not answer") {
				t.Errorf("the end: %v", err)
			}
			<-ended
		})
	}
	if after := clusters(t, base); after != before {
		t.Errorf("clusters are left: %s, and before: %s", after, before)
	}
}

// breakOff ends the connection of a bubble as if its process had been killed, and waits until the host has ended the bubble, which takes virtual time
// there: it closes its end of the connection then.
func breakOff(t *testing.T, c *Cluster) {
	t.Helper()
	c.bubble.mu.Lock()
	defer c.bubble.mu.Unlock()
	if err := c.bubble.conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c.bubble.conn); err != nil {
		t.Fatal(err)
	}
}
