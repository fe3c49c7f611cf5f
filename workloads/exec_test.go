package workloads_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// request returns a request for a subresource of the pod web.
func request(client kubernetes.Interface, subresource string, options runtime.Object) *rest.Request {
	return client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource(subresource).
		VersionedParams(options, scheme.ParameterCodec)
}

// exec runs a command in the container app of the pod web, and returns its output and its error.
func (w world) exec(stdin io.Reader, command ...string) string {
	w.Helper()
	return w.execIn("app", stdin, command...)
}

func (w world) execIn(container string, stdin io.Reader, command ...string) string {
	w.Helper()
	options := &corev1.PodExecOptions{Container: container, Command: command, Stdin: stdin != nil, Stdout: true, Stderr: true}
	executor, err := w.NewSPDYExecutor(w.cluster.RESTConfig(), "POST", request(w.client, "exec", options).URL())
	if err != nil {
		w.Fatal(err)
	}
	var out, errs bytes.Buffer
	err = executor.StreamWithContext(w.Context(), remotecommand.StreamOptions{Stdin: stdin, Stdout: &out, Stderr: &errs})
	text := out.String()
	if errs.Len() > 0 {
		text += "stderr: " + errs.String()
	}
	if err != nil {
		text += "error: " + err.Error()
	}
	return text
}

const webSpec = `
terminationGracePeriodSeconds: 1
containers: [{name: app, image: app, env: [{name: COLOR, value: red}]}]
`

// greet is a function with the program greet.
func greet(ctx context.Context, c *workloads.Container) error {
	c.HandleExec("greet", func(_ context.Context, e *workloads.ExecCommand) error {
		if len(e.Args) < 2 {
			fmt.Fprintln(e.Stderr, "who?")
			return workloads.Exit(3)
		}
		_, _ = io.Copy(e.Stdout, e.Stdin)
		fmt.Fprintf(e.Stdout, "hello %s\n", e.Args[1])
		return nil
	})
	if err := c.WriteFile("/etc/app/config", []byte("a: b\n"), 0o644); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// TestExecRightAfterTheStart proves that a client that has seen that a container is Running finds the programs of its function, which
// takes a moment to make them available.
func TestExecRightAfterTheStart(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("web", webSpec)
		w.cluster.WaitFor(w.T, fakecluster.Named("v1", "Pod", "default", "web"), fakecluster.CEL("object.status.phase == 'Running'"))
		equal(w.T, "greet", w.exec(nil, "greet", "you"), "hello you\n")
	}, workloads.Nodes(1), workloads.Image("app", func(ctx context.Context, c *workloads.Container) error {
		time.Sleep(5 * time.Millisecond)
		return greet(ctx, c)
	}))
}

// TestExecRunsProgramsInAContainer runs handlers, built-in programs and missing ones over SPDY, in a bubble.
func TestExecRunsProgramsInAContainer(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("web", webSpec)
		w.pass(3 * time.Second)
		for _, c := range []struct {
			stdin   string
			command []string
			want    string
		}{
			{"", []string{"/bin/greet", "you"}, "hello you\n"},
			{"first\n", []string{"greet", "you"}, "first\nhello you\n"},
			{"", []string{"greet"}, "stderr: who?\nerror: command terminated with exit code 3"},
			{"", []string{"cat", "/etc/app/config"}, "a: b\n"},
			{"from here", []string{"cat"}, "from here"},
			{"", []string{"sh", "-c", "greet $COLOR && echo ok || echo failed; exit 4"}, "hello red\nok\nerror: command terminated with exit code 4"},
			{"", []string{"sh", "-c", "nothing"}, "stderr: sh: nothing: not found\nerror: command terminated with exit code 127"},
		} {
			var in io.Reader
			if c.stdin != "" {
				in = strings.NewReader(c.stdin)
			}
			equal(w.T, strings.Join(c.command, " "), w.exec(in, c.command...), c.want)
		}
		if got, want := w.exec(nil, "nothing"), `OCI runtime exec failed: exec failed: unable to start container process: exec: "nothing": executable file not found in $PATH: unknown`; !strings.Contains(got, want) {
			t.Errorf("a missing program: %q, want %q", got, want)
		}
		began := time.Now()
		equal(w.T, "sleep", w.exec(nil, "sleep", "3600"), "")
		if got := time.Since(began).Round(time.Minute); got != time.Hour {
			t.Errorf("sleep takes %v", got)
		}
		go func() {
			time.Sleep(time.Minute)
			w.delete("pods", "web")
		}()
		equal(w.T, "the pod is deleted meanwhile", w.exec(nil, "sleep", "3600"), "error: command terminated with exit code 137")
		if got, want := w.exec(nil, "true"), `pods "web" not found`; !strings.Contains(got, want) {
			t.Errorf("of a pod that is gone: %q, want %q", got, want)
		}
	}, workloads.Nodes(1), workloads.Image("app", greet))
}

// TestAContainerWithoutAFunctionHasItsVolumes proves that somebody who looks into a container finds what a kubelet puts there, that what
// another container of the Pod writes is among it, and that nothing is read or requested for a container that nobody looks into.
func TestAContainerWithoutAFunctionHasItsVolumes(t *testing.T) {
	inBubble(t, func(w world) {
		w.post("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg}\ndata: {app.conf: color=red}")
		w.createPod("web", `
volumes: [{name: v, configMap: {name: cfg}}, {name: e, emptyDir: {}}, {name: s, nfs: {server: 10.9.9.9, path: /}}]
containers:
- {name: app, image: nginx, volumeMounts: [{name: v, mountPath: /etc/app}, {name: e, mountPath: /e}, {name: s, mountPath: /s}], securityContext: {readOnlyRootFilesystem: true}}
- {name: other, image: other, volumeMounts: [{name: e, mountPath: /f}]}`)
		w.createPod("unseen", "containers: [{name: app, image: nginx}]")
		w.pass(3 * time.Second)
		equal(w.T, "a ConfigMap", w.exec(nil, "cat", "/etc/app/app.conf"), "color=red")
		equal(w.T, "a ConfigMap is read-only", w.exec(nil, "sh", "-c", "echo > /etc/app/app.conf"), "stderr: sh: can't create /etc/app/app.conf: Read-only file system\nerror: command terminated with exit code 1")
		equal(w.T, "one container writes", w.execIn("other", nil, "sh", "-c", "echo here > /f/a"), "")
		equal(w.T, "the other one reads", w.exec(nil, "cat", "/e/a"), "here\n")
		equal(w.T, "a volume that has no content here", w.exec(nil, "ls", "/s"), "")
		equal(w.T, "the root is read-only", w.exec(nil, "touch", "/a"), "stderr: touch: '/a': Read-only file system\nerror: command terminated with exit code 1")
		if got := w.exec(nil, "cat", "/etc/hosts"); !strings.Contains(got, "\tweb\n") {
			w.Errorf("/etc/hosts is %q", got)
		}
		if got := w.exec(nil, "cat", "/etc/resolv.conf"); !strings.Contains(got, "search default.svc.cluster.local ") {
			w.Errorf("/etc/resolv.conf is %q", got)
		}
		if got := w.exec(nil, "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token"); strings.Count(got, ".") != 2 {
			w.Errorf("the token is %q", got)
		}
		if n := w.requests("kubelet", "create", "serviceaccounts/token"); n != 1 {
			w.Errorf("%d tokens have been requested", n)
		}
		w.patch("configmaps", "cfg", `{"data": {"app.conf": "color=blue"}}`)
		w.pass(2 * time.Minute)
		equal(w.T, "the ConfigMap has changed", w.exec(nil, "cat", "/etc/app/app.conf"), "color=blue")
	}, workloads.Nodes(1))
}

// TestExecInAContainerWithoutAFunction has the built-in programs over files of its own.
func TestExecInAContainerWithoutAFunction(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("web", webSpec)
		w.pass(3 * time.Second)
		equal(w.T, "a script", w.exec(nil, "sh", "-c", "echo $COLOR > /tmp/a; cat /tmp/a; hostname"), "red\nweb\n")
		equal(w.T, "the file stays", w.exec(nil, "cat", "/tmp/a"), "red\n")
	}, workloads.Nodes(1))
}

// TestExecEndsWithItsClient leaves while a program waits, and while a script of the built-in shell does; and deletes a Pod of which a client reads.
func TestExecEndsWithItsClient(t *testing.T) {
	var ended atomic.Pointer[time.Time]
	inBubble(t, func(w world) {
		w.createPod("web", webSpec)
		w.pass(3 * time.Second)
		for _, command := range [][]string{{"hang"}, {"sh", "-c", "sleep 10; hang"}} {
			ctx, leave := context.WithTimeout(w.Context(), time.Minute)
			executor, err := w.NewSPDYExecutor(w.cluster.RESTConfig(), "POST", request(w.client, "exec", &corev1.PodExecOptions{Command: command, Stdout: true}).URL())
			if err != nil {
				w.Fatal(err)
			}
			began := time.Now()
			err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard})
			leave()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%q: %v", command, err)
			}
			w.pass(0)
			if moment := ended.Swap(nil); moment == nil || moment.Sub(began).Round(time.Second) != time.Minute {
				t.Errorf("%q has ended at %v", command, moment)
			}
		}
	}, workloads.Nodes(1), workloads.Image("app", func(ctx context.Context, c *workloads.Container) error {
		c.HandleExec("hang", func(ctx context.Context, _ *workloads.ExecCommand) error {
			<-ctx.Done()
			now := time.Now()
			ended.Store(&now)
			return nil
		})
		<-ctx.Done()
		return nil
	}))
	inBubble(t, func(w world) {
		w.createPod("web", webSpec)
		w.pass(3 * time.Second)
		go func() {
			time.Sleep(time.Minute)
			w.delete("pods", "web")
		}()
		in, out := io.Pipe() // nothing is written
		defer out.Close()
		equal(w.T, "the Pod is deleted while its input is read", w.exec(in, "cat"), "error: command terminated with exit code 137")
	}, workloads.Nodes(1))
}

// TestAttachReadsAndWritesAContainersStreams sends lines to a function, whose output comes back, in a bubble.
func TestAttachReadsAndWritesAContainersStreams(t *testing.T) {
	run := func(_ context.Context, c *workloads.Container) error {
		fmt.Fprintln(c.Stdout, "before")
		data, err := io.ReadAll(c.Stdin)
		fmt.Fprintf(c.Stdout, "read %q, %v\n", data, err)
		return err
	}
	inBubble(t, func(w world) {
		w.createPod("web", `
restartPolicy: Never
containers: [{name: app, image: app, stdin: true, stdinOnce: true}]
`)
		w.pass(3 * time.Second)
		executor, err := w.NewSPDYExecutor(w.cluster.RESTConfig(), "POST", request(w.client, "attach", &corev1.PodAttachOptions{Stdin: true, Stdout: true}).URL())
		if err != nil {
			w.Fatal(err)
		}
		var out bytes.Buffer
		if err := executor.StreamWithContext(w.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader("line\n"), Stdout: &out}); err != nil {
			t.Error(err)
		}
		equal(w.T, "what comes back", out.String(), "read \"line\\n\", <nil>\n")
		w.pass(time.Second)
		equal(w.T, "the phase", field(w.object("pods", "web"), "status.phase"), "Succeeded")
		equal(w.T, "the log", w.log("web", corev1.PodLogOptions{}), "before\nread \"line\\n\", <nil>\n")
	}, workloads.Nodes(1), workloads.Image("app", run))
}

// TestAnInputThatStaysOpen attaches twice to a container whose input outlives its clients, without stdinOnce or with a terminal: each leaves with the end of
// what it sends.
func TestAnInputThatStaysOpen(t *testing.T) {
	for name, container := range map[string]string{"without stdinOnce": "stdin: true", "with a terminal": "stdin: true, stdinOnce: true, tty: true"} {
		t.Run(name, func(t *testing.T) { testAnInputThatStaysOpen(t, container) })
	}
}

func testAnInputThatStaysOpen(t *testing.T, container string) {
	terminal := strings.Contains(container, "tty")
	inBubble(t, func(w world) {
		w.createPod("web", "restartPolicy: Never\ncontainers: [{name: app, image: app, command: [cat], "+container+"}]")
		w.pass(3 * time.Second)
		for _, line := range []string{"one\n", "two\n"} {
			executor, err := w.NewSPDYExecutor(w.cluster.RESTConfig(), "POST", request(w.client, "attach", &corev1.PodAttachOptions{Stdin: true, Stdout: true, TTY: terminal}).URL())
			if err != nil {
				w.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
			if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader(line), Stdout: io.Discard, Tty: terminal}); err != nil {
				t.Error(err)
			}
			cancel()
		}
		w.pass(time.Second)
		equal(w.T, "the log", w.log("web", corev1.PodLogOptions{}), "one\ntwo\n")
		equal(w.T, "the phase", field(w.object("pods", "web"), "status.phase"), "Running")
	}, workloads.Nodes(1))
}

// TestATerminal types into an interactive shell.
func TestATerminal(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("web", webSpec)
		w.pass(3 * time.Second)
		options := &corev1.PodExecOptions{Command: []string{"sh"}, Stdin: true, Stdout: true, TTY: true}
		executor, err := w.NewSPDYExecutor(w.cluster.RESTConfig(), "POST", request(w.client, "exec", options).URL())
		if err != nil {
			w.Fatal(err)
		}
		keys, typing := io.Pipe()
		go func() {
			for _, k := range []string{"echX\x7fo hi\r", "cd /etc\r", "exit 5\r"} {
				_, _ = io.WriteString(typing, k)
				time.Sleep(time.Second)
			}
			_ = typing.Close()
		}()
		sizes := make(sizes, 2)
		sizes <- remotecommand.TerminalSize{Width: 80, Height: 24}
		sizes <- remotecommand.TerminalSize{Width: 100, Height: 24}
		close(sizes)
		var out bytes.Buffer
		err = executor.StreamWithContext(w.Context(), remotecommand.StreamOptions{Stdin: keys, Stdout: &out, Tty: true, TerminalSizeQueue: sizes})
		if err == nil || err.Error() != "command terminated with exit code 5" {
			t.Errorf("the end: %v", err)
		}
		equal(w.T, "the screen", out.String(), "/ # echX\b \bo hi\r\nhi\r\n/ # cd /etc\r\n/etc # exit 5\r\n")
	}, workloads.Nodes(1), workloads.Image("app", greet))
}

// sizes are those of a terminal.
type sizes chan remotecommand.TerminalSize

// Next implements remotecommand.TerminalSizeQueue.
func (s sizes) Next() *remotecommand.TerminalSize {
	if size, ok := <-s; ok {
		return &size
	}
	return nil
}

// readySpec returns the specification of a Pod that is ready when a program succeeds.
func readySpec(command string) string {
	return "{terminationGracePeriodSeconds: 0, containers: [{name: app, image: app, readinessProbe: {exec: {command: " + command + "}, periodSeconds: 1}}]}"
}

// TestExecOverWebSockets runs commands through a cluster with a socket, with both executors of client-go.
func TestExecOverWebSockets(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.WithObjects(newPod(t, "web", readySpec("[greet, you]"))))
	workloads.Run(t, c, workloads.Nodes(1), workloads.Image("app", greet))
	c.WaitFor(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}, fakecluster.CEL(`object.status.containerStatuses[0].ready`))
	config := c.RESTConfig()
	to := request(kubernetes.NewForConfigOrDie(config), "exec", &corev1.PodExecOptions{Command: []string{"sh", "-c", "cat; greet"}, Stdin: true, Stdout: true, Stderr: true}).URL()
	sockets, err := remotecommand.NewWebSocketExecutor(config, "GET", to.String())
	if err != nil {
		t.Fatal(err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, "POST", to)
	if err != nil {
		t.Fatal(err)
	}
	for name, executor := range map[string]remotecommand.Executor{"WebSocket": sockets, "SPDY": spdy} {
		var out, errs bytes.Buffer
		err := executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader("in"), Stdout: &out, Stderr: &errs})
		if err == nil || err.Error() != "command terminated with exit code 3" || out.String() != "in" || errs.String() != "who?\n" {
			t.Errorf("%s: %q, %q, %v", name, out.String(), errs.String(), err)
		}
	}
}

// TestThePauseImageHasNoPrograms proves that its containers are as on a real cluster, where kubectl exec fails.
func TestThePauseImageHasNoPrograms(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("web", strings.Replace(webSpec, "image: app", "image: registry.k8s.io/pause:3.10", 1))
		w.pass(3 * time.Second)
		const want = `OCI runtime exec failed: exec failed: unable to start container process: exec: "sh": executable file not found in $PATH: unknown`
		if got := w.exec(nil, "sh", "-c", "true"); !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want %q at its end", got, want)
		}
	}, workloads.Nodes(1))
}
