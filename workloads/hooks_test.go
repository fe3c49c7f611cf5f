package workloads_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/workloads"
)

// end deletes a pod with its grace period.
func (w world) end(pod string) {
	w.Helper()
	if err := w.client.CoreV1().Pods("default").Delete(w.Context(), pod, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// TestHooksRunInAContainer runs a program after the start, which delays the status, and one before SIGTERM.
func TestHooksRunInAContainer(t *testing.T) {
	var got []string
	began := time.Time{}
	note := func(what string) {
		got = append(got, fmt.Sprintf("%s after %v", what, time.Since(began).Round(time.Second)))
	}
	run := func(ctx context.Context, c *workloads.Container) error {
		began = time.Now()
		for name, took := range map[string]time.Duration{"warm": 5 * time.Second, "drain": 3 * time.Second} {
			c.HandleExec(name, func(_ context.Context, e *workloads.ExecCommand) error {
				time.Sleep(took)
				note(name)
				return nil
			})
		}
		<-ctx.Done()
		note("SIGTERM")
		return nil
	}
	inBubble(t, func(w world) {
		w.createPod("web", `
terminationGracePeriodSeconds: 10
containers:
- name: app
  image: app
  readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
  lifecycle:
    postStart: {exec: {command: [sh, -c, "warm && touch /warm"]}}
    preStop: {exec: {command: [sh, -c, "test -f /warm && drain"]}}
`)
		w.pass(4 * time.Second)
		equal(w.T, "while the hook runs", field(w.object("pods", "web"), "status.phase"), "Pending")
		w.pass(6 * time.Second)
		equal(w.T, "after it", field(w.object("pods", "web"), "status.phase"), "Running")
		began = time.Now()
		w.end("web")
		w.pass(8 * time.Second)
		if want := []string{"warm after 5s", "drain after 3s", "SIGTERM after 3s"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}, workloads.Nodes(1), workloads.Image("app", run))
}

// TestHooksThatFail kills the container whose postStart hook fails, and reports a preStop hook that does not end in time.
func TestHooksThatFail(t *testing.T) {
	run := func(ctx context.Context, c *workloads.Container) error {
		c.HandleExec("hang", func(ctx context.Context, _ *workloads.ExecCommand) error {
			<-ctx.Done()
			return nil
		})
		if c.Pod.Name == "end" {
			time.Sleep(2 * time.Second)
			return nil
		}
		<-ctx.Done()
		return nil
	}
	inBubble(t, func(w world) {
		for _, pod := range []string{"name: start", "name: end", "name: stop"} {
			hook := "postStart: {exec: {command: [sh, -c, 'echo no >&2; exit 3']}}"
			switch pod {
			case "name: end":
				hook = "postStart: {exec: {command: [hang]}}"
			case "name: stop":
				hook = "preStop: {exec: {command: [hang]}}"
			}
			w.post(`
apiVersion: v1
kind: Pod
metadata: {` + pod + `}
spec:
  terminationGracePeriodSeconds: 5
  restartPolicy: Never
  containers: [{name: app, image: app, lifecycle: {` + hook + `}}]
`)
		}
		w.pass(10 * time.Second)
		for _, pod := range []string{"start", "end"} { // the container of the second one ends while the hook runs
			events := strings.Join(w.events(pod), "\n")
			for _, want := range []string{"FailedPostStartHook: PostStartHook failed", "Killing: FailedPostStartHook"} {
				if !strings.Contains(events, want) {
					t.Errorf("pod %s does not have the Event %q:\n%s", pod, want, events)
				}
			}
		}
		if got := field(w.object("pods", "start"), "status.phase"); got != "Succeeded" {
			t.Errorf("the Pod is %s", got)
		}
		began := time.Now()
		if got := w.exec(nil, "true"); !strings.Contains(got, "not found") {
			t.Error(got)
		}
		w.end("stop")
		for len(w.list("pods")) > 2 {
			w.pass(time.Second)
		}
		if took := time.Since(began); took < 5*time.Second || took > 8*time.Second {
			t.Errorf("a preStop hook that hangs takes %v", took)
		}
		if events := strings.Join(w.events("stop"), "\n"); !strings.Contains(events, "FailedPreStopHook: PreStopHook failed") {
			t.Errorf("there is no Event about the preStop hook:\n%s", events)
		}
	}, workloads.Nodes(1), workloads.Image("app", run))
}

// TestHooksOverHTTP sends requests to the container itself. A container without a function is not called.
func TestHooksOverHTTP(t *testing.T) {
	var got []string
	run := func(ctx context.Context, c *workloads.Container) error {
		l, err := c.Listen("tcp", ":8080")
		if err != nil {
			return err
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			agent, _, _ := strings.Cut(req.UserAgent(), "/")
			got = append(got, agent+" "+req.URL.Path)
			_, _ = io.WriteString(w, "ok")
		})}
		defer context.AfterFunc(ctx, func() { _ = s.Close() })()
		_ = s.Serve(l)
		return nil
	}
	inBubble(t, func(w world) {
		w.createPod("web", `
terminationGracePeriodSeconds: 1
containers:
- name: app
  image: app
  lifecycle: {postStart: {httpGet: {port: 8080, path: /start}}, preStop: {httpGet: {port: 8080, path: /stop}}}
- name: other
  image: other
  lifecycle: {postStart: {httpGet: {port: 81}}, preStop: {sleep: {seconds: 1}}}
`)
		w.pass(3 * time.Second)
		equal(w.T, "phase", field(w.object("pods", "web"), "status.phase"), string(corev1.PodRunning))
		w.end("web")
		w.pass(5 * time.Second)
		if want := []string{"kube-lifecycle /start", "kube-lifecycle /stop"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}, workloads.Nodes(1), workloads.Image("app", run))
}
