package workloads_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads"
)

// log returns the log of a pod, or the error about it.
func (w world) log(pod string, o corev1.PodLogOptions) string {
	w.Helper()
	stream, err := w.client.CoreV1().Pods("default").GetLogs(pod, &o).Stream(w.Context())
	if err != nil {
		return "error: " + err.Error()
	}
	defer stream.Close()
	data, err := io.ReadAll(stream)
	if err != nil {
		w.Error(err)
	}
	return string(data)
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestLogsOfAContainer reads the log of a container that fails once, before and after its restart.
func TestLogsOfAContainer(t *testing.T) {
	starts := 0
	run := func(ctx context.Context, c *workloads.Container) error {
		starts++
		fmt.Fprintf(c.Stdout, "start %d\n", starts)
		time.Sleep(time.Second)
		fmt.Fprintf(c.Stderr, "warning\n")
		if starts == 1 {
			return errors.New("cannot connect")
		}
		<-ctx.Done()
		return nil
	}
	inBubble(t, func(w world) {
		w.createPod("web", `
terminationGracePeriodSeconds: 1
containers: [{name: app, image: app}, {name: other, image: other}]
`)
		w.pass(100 * time.Millisecond)
		equal(t, "before the start", w.log("web", corev1.PodLogOptions{Container: "app"}),
			`error: container "app" in pod "web" is waiting to start: ContainerCreating`)
		w.pass(900 * time.Millisecond)
		equal(t, "of the first start", w.log("web", corev1.PodLogOptions{Container: "app"}), "start 1\n")
		equal(t, "previous, which does not exist", w.log("web", corev1.PodLogOptions{Container: "app", Previous: true}),
			`error: previous terminated container "app" in pod "web" not found`)
		w.pass(8 * time.Second)
		equal(t, "of the second start", w.log("web", corev1.PodLogOptions{Container: "app"}), "start 2\nwarning\n")
		equal(t, "previous", w.log("web", corev1.PodLogOptions{Container: "app", Previous: true}), "start 1\nwarning\ncannot connect\n")
		equal(t, "its last line", w.log("web", corev1.PodLogOptions{Container: "app", TailLines: ptr.To(int64(1))}), "warning\n")
		equal(t, "of an image without a function", w.log("web", corev1.PodLogOptions{Container: "other"}), "")
		if got := w.log("web", corev1.PodLogOptions{Container: "app", Timestamps: true, SinceSeconds: ptr.To(int64(7))}); !strings.HasPrefix(got, "2000-01-01T00:00:0") || !strings.HasSuffix(got, "Z warning\n") {
			t.Errorf("with timestamps: %q", got)
		}
	}, workloads.Nodes(1), workloads.Image("app", run))
}

// TestLogsAreFollowedUntilTheContainerExits reads lines as they are written, in a bubble.
func TestLogsAreFollowedUntilTheContainerExits(t *testing.T) {
	run := func(ctx context.Context, c *workloads.Container) error {
		for i := range 3 {
			fmt.Fprintf(c.Stdout, "%d\n", i)
			time.Sleep(time.Minute)
		}
		return nil
	}
	inBubble(t, func(w world) {
		w.createPod("job", `
restartPolicy: Never
containers: [{name: app, image: app}]
`)
		w.pass(3 * time.Second)
		stream, err := w.client.CoreV1().Pods("default").GetLogs("job", &corev1.PodLogOptions{Follow: true}).Stream(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		lines, began := bufio.NewReader(stream), time.Now()
		for i := range 3 {
			line, err := lines.ReadString('\n')
			if got := time.Since(began).Truncate(time.Minute); err != nil || line != fmt.Sprintf("%d\n", i) || got > time.Duration(i)*time.Minute {
				t.Errorf("line %d after %v: %q, %v", i, got, line, err)
			}
		}
		if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
			t.Errorf("the end: %q, %v", rest, err)
		}
		w.pass(time.Second)
		equal(t, "after the end", w.log("job", corev1.PodLogOptions{}), "0\n1\n2\n")
		if err := w.client.CoreV1().Pods("default").Delete(w.Context(), "job", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		equal(t, "of a pod that is gone", w.log("job", corev1.PodLogOptions{}), `error: pods "job" not found`)
	}, workloads.Nodes(1), workloads.Image("app", run))
}

// TestAFollowerLeaves cancels the context of a client that follows a log, and ends the cluster while another one follows.
func TestAFollowerLeaves(t *testing.T) {
	inBubble(t, func(w world) {
		w.post("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: app}]}}")
		w.pass(3 * time.Second)
		ctx, leave := context.WithCancel(w.Context())
		for _, ctx := range []context.Context{ctx, context.Background()} {
			stream, err := w.client.CoreV1().Pods("default").GetLogs("web", &corev1.PodLogOptions{Follow: true}).Stream(ctx)
			if err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, stream) }()
		}
		w.pass(time.Second)
		leave()
		w.pass(time.Second)
		n, err := w.Node("n1")
		if err != nil {
			t.Fatal(err)
		}
		if err := n.StopHeartbeats(w.Context()); err != nil {
			t.Fatal(err)
		}
		got := w.log("web", corev1.PodLogOptions{})
		if want := `dial tcp 172.18.0.2:10250: connect: connection refused`; !strings.Contains(got, want) {
			t.Errorf("of a node that is down: %q, want %q", got, want)
		}
	}, workloads.Nodes(1))
}

// TestABehaviorStatesALog proves that a container without a function has the log of its behavior, with each start, and that the end of the log
// is its termination message, if its policy says so.
func TestABehaviorStatesALog(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("web", `containers: [{name: app, image: broken, terminationMessagePolicy: FallbackToLogsOnError}]`)
		w.pass(3 * time.Second)
		equal(t, "the first log", w.log("web", corev1.PodLogOptions{}), "reading /etc/app\nno such file\n")
		w.pass(10 * time.Second)
		equal(t, "the log before", w.log("web", corev1.PodLogOptions{Previous: true}), "reading /etc/app\nno such file\n")
		pod, err := w.client.CoreV1().Pods("default").Get(w.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the termination message", pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.Message, "reading /etc/app\nno such file\n")
	}, workloads.Nodes(1), workloads.Behaviors(workloads.Behavior{Image: "broken", RunTime: time.Second, ExitCode: new(int32(1)), Log: "reading /etc/app\nno such file"}))
}

// TestLogsOfAFork proves that the log of a start that has ended in the origin of a fork is empty, and not an error of the connection.
func TestLogsOfAFork(t *testing.T) {
	living := []workloads.Option{workloads.Nodes(1), workloads.Behaviors(
		workloads.Behavior{Image: "broken", RunTime: time.Second, ExitCode: new(int32(1)), Failures: 1, Log: "a line"})}
	inBubble(t, func(w world) {
		w.createPod("web", strings.Replace(webSpec, "image: app", "image: broken", 1))
		w.pass(20 * time.Second)
		equal(t, "before, in the origin", w.log("web", corev1.PodLogOptions{Previous: true}), "a line\n")
		f := alive(w.T, w.cluster.Fork(w.T), living...)
		f.pass(2 * time.Second)
		equal(t, "before, in the fork", f.log("web", corev1.PodLogOptions{Previous: true}), "")
		equal(t, "now, in the fork", f.log("web", corev1.PodLogOptions{}), "a line\n")
	}, living...)
}
