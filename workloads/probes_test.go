package workloads_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/workloads"
)

// serving returns a function that serves a handler on port 8080, over TLS if there is a certificate.
func serving(handler http.HandlerFunc, certificates ...tls.Certificate) func(context.Context, *workloads.Container) error {
	return func(ctx context.Context, c *workloads.Container) error {
		l, err := c.Listen("tcp", ":8080")
		if err != nil {
			return err
		}
		s := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: certificates}}
		defer context.AfterFunc(ctx, func() { _ = s.Close() })()
		serve := s.Serve
		if certificates != nil {
			serve = func(l net.Listener) error { return s.ServeTLS(l, "", "") }
		}
		_ = serve(l)
		return nil
	}
}

// TestAProbeThatIsRedirected proves that a probe follows a redirect to a path, that one to another host passes with a warning, and that
// it is not followed.
func TestAProbeThatIsRedirected(t *testing.T) {
	var got []string
	web := serving(func(w http.ResponseWriter, req *http.Request) {
		got = append(got, req.URL.Path)
		if to := req.URL.Query().Get("to"); to != "" {
			http.Redirect(w, req, to, http.StatusFound)
		}
	})
	inBubble(t, func(w world) {
		w.createPod("here", `containers: [{name: c, image: web, readinessProbe: {httpGet: {port: 8080, path: "/a?to=/b"}, periodSeconds: 60}}]`)
		w.createPod("there", `containers: [{name: c, image: web, livenessProbe: {httpGet: {port: 8080, path: "/c?to=http://0.0.0.0/d"}, periodSeconds: 5, failureThreshold: 1}}]`)
		w.pass(20 * time.Second)
		if want := []string{"/a", "/b", "/c"}; !slices.Equal(slices.Compact(slices.Sorted(slices.Values(got))), want) {
			t.Errorf("got the paths %q, want %q", got, want)
		}
		w.check("Ready", condition(w.object("pods", "here"), "Ready"), "True")
		events := w.events("there")
		if want := "ProbeWarning: Liveness probe warning: Probe terminated redirects, Response body: <a href=\"http://0.0.0.0/d\">Found</a>.\n\n"; !slices.Contains(events, want) {
			t.Errorf("there is no Event %q in %q", want, events)
		}
		if text := strings.Join(events, "\n"); strings.Contains(text, "Unhealthy") || strings.Contains(text, "Killing") {
			t.Errorf("the container is taken for unhealthy:\n%s", text)
		}
	}, workloads.Nodes(1), workloads.Image("web", web))
}

// TestExecProbesThatTakeTooLong proves that a probe fails at its timeout, whether its program ends with it or not.
func TestExecProbesThatTakeTooLong(t *testing.T) {
	const script = `containers: [{name: c, image: busybox, command: [sh, -c, "echo ok >/tmp/health; sleep 600"],`
	inBubble(t, func(w world) {
		w.createPod("live", script+`livenessProbe: {exec: {command: [sh, -c, "sleep 10 & wait; sleep 10"]}, timeoutSeconds: 2, periodSeconds: 5, failureThreshold: 1}}]`)
		w.createPod("ready", script+`readinessProbe: {exec: {command: [sh, -c, "sleep 10"]}, periodSeconds: 5}}]`)
		w.createPod("file", script+`readinessProbe: {exec: {command: [cat, /tmp/health]}, timeoutSeconds: 20, periodSeconds: 1}}]`)
		w.createPod("stubborn", `containers: [{name: c, image: app, livenessProbe: {exec: {command: [check]}, timeoutSeconds: 3, periodSeconds: 5, failureThreshold: 1}}]`)
		w.pass(20 * time.Second)
		for pod, want := range map[string]string{
			"live":     `Unhealthy: Liveness probe failed: command timed out: "sh -c sleep 10 & wait; sleep 10" timed out after 2s`,
			"ready":    `Unhealthy: Readiness probe failed: command timed out: "sh -c sleep 10" timed out after 1s`,
			"stubborn": `Unhealthy: Liveness probe failed: command timed out: "check" timed out after 3s`,
		} {
			if events := w.events(pod); !slices.Contains(events, want) {
				t.Errorf("the Pod %s does not have the Event %q:\n%s", pod, want, strings.Join(events, "\n"))
			}
		}
		w.isLogged("live", "Killing: Container c failed liveness probe, will be restarted")
		w.isLogged("stubborn", "Killing: Container c failed liveness probe, will be restarted")
		w.check("Ready", condition(w.object("pods", "ready"), "Ready"), "False ContainersNotReady")
		w.check("Ready of the one with a file", condition(w.object("pods", "file"), "Ready"), "True")
	}, workloads.Nodes(1), workloads.Image("app", func(ctx context.Context, c *workloads.Container) error {
		c.HandleExec("check", func(context.Context, *workloads.ExecCommand) error {
			time.Sleep(10 * time.Second)
			return nil
		})
		<-ctx.Done()
		return nil
	}))
}

// TestTheCommandAndTheOutputOfExecProbes proves that a kubelet expands variables in the command of a probe, and shows the first 10 KiB of
// its output, with what was written to stderr last.
func TestTheCommandAndTheOutputOfExecProbes(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("db", `
containers:
- name: c
  image: postgres
  env: [{name: LEVEL, value: high}, {name: TWICE, value: $(LEVEL)}]
  readinessProbe: {exec: {command: [check, "$(LEVEL)", "$(TWICE)", "$(OTHER)"]}, periodSeconds: 5}
- name: long
  image: postgres
  readinessProbe: {exec: {command: [long]}, periodSeconds: 5}
`)
		w.pass(10 * time.Second)
		events := w.events("db")
		for _, want := range []string{
			"Unhealthy: Readiness probe failed: [check high $(LEVEL) $(OTHER)]first\n",
			"Unhealthy: Readiness probe failed: " + strings.Repeat("x", 10<<10),
		} {
			if !slices.Contains(events, want) {
				t.Errorf("there is no Event %q in %q", want, events)
			}
		}
	}, workloads.Nodes(1), workloads.Image("postgres", func(ctx context.Context, c *workloads.Container) error {
		c.HandleExec("check", func(_ context.Context, command *workloads.ExecCommand) error {
			fmt.Fprintln(command.Stderr, "first")
			fmt.Fprint(command.Stdout, command.Args)
			return workloads.Exit(1)
		})
		c.HandleExec("long", func(_ context.Context, command *workloads.ExecCommand) error {
			fmt.Fprint(command.Stdout, strings.Repeat("x", 20<<10))
			return workloads.Exit(1)
		})
		<-ctx.Done()
		return nil
	}))
}

// TestHooksOverHTTPS proves that a hook may ask for HTTPS, and that a kubelet tries HTTP if the server has answered so.
func TestHooksOverHTTPS(t *testing.T) {
	var mu sync.Mutex
	var got []string
	handler := func(scheme string) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(scheme, " ", req.URL.Path, " ", req.Header.Get("Authorization")))
		}
	}
	authority, err := authentication.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := authority.ServerCertificate("web.default.svc") // not the name that the kubelet asks for
	if err != nil {
		t.Fatal(err)
	}
	inBubble(t, func(w world) {
		for _, name := range []string{"secure", "plain"} {
			w.createPod(name, `{terminationGracePeriodSeconds: 30, containers: [{name: c, image: `+name+`,
  lifecycle: {preStop: {httpGet: {scheme: HTTPS, port: 8080, path: /`+name+`, httpHeaders: [{name: Authorization, value: secret}]}}}}]}`)
		}
		w.pass(10 * time.Second)
		w.end("secure")
		w.end("plain")
		w.pass(5 * time.Second)
		mu.Lock()
		slices.Sort(got)
		mu.Unlock()
		if want := []string{"http /plain ", "https /secure secret"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		fallback := "LifecycleHTTPFallback: request to HTTPS lifecycle hook "
		if events := strings.Join(w.events("plain"), "\n"); !strings.Contains(events, fallback) || !strings.Contains(events, " got HTTP response, retry with HTTP succeeded") {
			t.Errorf("there is no Event about the fallback:\n%s", events)
		}
		if events := strings.Join(w.events("secure"), "\n"); strings.Contains(events, fallback) {
			t.Errorf("there is an Event about a fallback:\n%s", events)
		}
	}, workloads.Nodes(1), workloads.Image("secure", serving(handler("https"), certificate)), workloads.Image("plain", serving(handler("http"))))
}
