package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

func does(err error) Function { return func(context.Context, *Container) error { return err } }

func TestImagesAreChecked(t *testing.T) {
	for _, test := range []struct {
		name   string
		images []Image
		want   string
	}{
		{"two patterns", []Image{{Name: "acme/*", Run: does(nil)}, {Name: "acme/a:1", Run: does(nil)}}, ""},
		{"the same twice", []Image{{Name: "a", Run: does(nil)}, {Name: "a", Run: does(nil)}}, `image "a" has two functions or programs; leave one out`},
		{"no pattern", []Image{{Name: "a[", Run: does(nil)}}, `image "a[" is not a pattern of path.Match: syntax error in pattern`},
		{"no name", []Image{{Run: does(nil)}}, "the name of an image is empty"},
		{"no function", []Image{{Name: "a"}}, `the function of image "a" is nil`},
	} {
		got := ""
		if _, err := NewRuntime(Config{Images: test.images}); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// start starts a container of a function, and returns its log, too. Problems that are reported go to reports.
func start(t *testing.T, run Function, reports *[]string) (cri.Process, *stdio.Log) {
	t.Helper()
	r, err := NewRuntime(Config{Images: []Image{{Name: "app", Run: run}}, Report: func(err error) { *reports = append(*reports, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	root, err := files.NewRoot(files.NewTree(), nil)
	if err != nil {
		t.Fatal(err)
	}
	log := stdio.NewLog()
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = "default", "web"
	return r.Start(cri.Container{
		Pod: pod, Spec: &corev1.Container{Name: "c", Image: "app", TerminationMessagePath: "/dev/termination-log"}, Files: root, Log: log, Changed: func() {},
		Environment: []string{"A=1", "B=2", "A=3"}, StartedAt: time.Now(),
	}), log
}

func TestHowAFunctionEnds(t *testing.T) {
	message := func(c *Container, size int) error {
		return c.WriteFile("dev/termination-log", []byte(strings.Repeat("x", size)), 0o644)
	}
	for _, test := range []struct {
		name string
		run  Function
		want cri.Exit
		log  string // its beginning
	}{
		{"it returns", does(nil), cri.Exit{Reason: "Completed"}, ""},
		{"it fails", does(errors.New("no route")), cri.Exit{Code: 1, Reason: "Error"}, "no route\n"},
		{"it exits with a code", does(fmt.Errorf("as asked: %w", Exit(7))), cri.Exit{Code: 7, Reason: "Error"}, ""},
		{"it panics", func(context.Context, *Container) error { panic("oh") }, cri.Exit{Code: 2, Reason: "Error"}, "panic: oh\n\ngoroutine "},
		{"it ends its goroutine", func(context.Context, *Container) error { runtime.Goexit(); return nil }, cri.Exit{Code: 2, Reason: "Error"}, errGoexit.Error() + "\n"},
		{"it writes a message", func(_ context.Context, c *Container) error { return message(c, 3) }, cri.Exit{Reason: "Completed", Message: "xxx"}, ""},
		{"the message is long", func(_ context.Context, c *Container) error { return message(c, 5000) },
			cri.Exit{Reason: "Completed", Message: strings.Repeat("x", 4096)}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var reports []string
				p, log := start(t, test.run, &reports)
				synctest.Wait()
				test.want.At = time.Now()
				if got := p.Exit(time.Now()); got == nil || *got != test.want {
					t.Errorf("it ends with %+v, want %+v", got, test.want)
				}
				if text := log.End(10_000); !strings.HasPrefix(text, test.log) || test.log == "" && text != "" {
					t.Errorf("the log is %q, want %q", text, test.log)
				}
				if reports != nil {
					t.Errorf("reported: %q", reports)
				}
			})
		})
	}
}

// TestAProgramThatEndsItsGoroutine proves that nothing else ends with the program: not the script, the pipe or the function that runs it.
func TestAProgramThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []string
		p, log := start(t, func(ctx context.Context, c *Container) error {
			c.HandleExec("fail", func(context.Context, *Command) error { runtime.Goexit(); return nil })
			c.HandleExec("outer", func(ctx context.Context, command *Command) error {
				code, err := command.Container.Exec(ctx, []string{"fail"}, nil, command.Stdout, command.Stderr)
				fmt.Fprintf(command.Stdout, "ended with %d, %v\n", code, err)
				return err
			})
			code, err := c.Exec(ctx, []string{"fail"}, nil, c.Stdout, c.Stderr)
			fmt.Fprintf(c.Stdout, "ended with %d, %v\n", code, err)
			<-ctx.Done()
			return nil
		}, &reports)
		sentence := errGoexit.Error() + "\n"
		for _, test := range []struct {
			command []string
			code    int
			out     string
		}{
			{[]string{"fail"}, 2, sentence},
			{[]string{"sh", "-c", "fail; echo after $?"}, 0, sentence + "after 2\n"},
			{[]string{"sh", "-c", "fail || exit 5"}, 5, sentence},
			{[]string{"sh", "-c", "x=$(fail); echo after $?"}, 0, sentence + "after 2\n"},
			{[]string{"sh", "-c", "fail 2>&1 | cat; echo after"}, 0, sentence + "after\n"},
			{[]string{"sh", "-c", "fail & wait $!; echo after $?"}, 0, sentence + "after 2\n"},
			{[]string{"outer"}, 0, sentence + "ended with 2, <nil>\n"},
		} {
			var out bytes.Buffer
			code, err := p.Exec(t.Context(), test.command, stdio.Streams{Stdout: &out, Stderr: &out})
			if code != test.code || err != nil || out.String() != test.out {
				t.Errorf("%q ends with %d, %v and writes %q, want %d and %q", test.command, code, err, &out, test.code, test.out)
			}
		}
		if text, want := log.End(10_000), sentence+"ended with 2, <nil>\n"; text != want || p.Exit(time.Now()) != nil {
			t.Errorf("the function ends with %v, its log is %q, want %q", p.Exit(time.Now()), text, want)
		}
		p.(*process).wanted.Spec.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"fail"}}}}
		p.Probe(cri.Readiness, time.Now())
		synctest.Wait()
		if result, output := p.Probe(cri.Readiness, time.Now()); result != cri.Failure || output != sentence {
			t.Errorf("a probe: %v, %q", result, output)
		}
		p.Terminate(time.Now())
		synctest.Wait()
		if left := len(p.(*process).runtime.programs) + len(p.(*process).runtime.running); left > 0 {
			t.Errorf("%d programs and functions are left", left)
		}
	})
}

func TestAFunctionThatIgnoresItsContextIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []string
		end := make(chan struct{})
		p, _ := start(t, func(context.Context, *Container) error { <-end; return nil }, &reports)
		p.Terminate(time.Now())
		synctest.Wait()
		if got := p.Exit(time.Now()); got != nil {
			t.Errorf("after SIGTERM it has ended with %+v", got)
		}
		time.Sleep(30 * time.Second)
		p.Kill(time.Now())
		if got, want := p.Exit(time.Now()), (cri.Exit{At: time.Now(), Code: 137, Reason: "Error"}); got == nil || *got != want {
			t.Errorf("after SIGKILL it has ended with %+v, want %+v", got, want)
		}
		if len(reports) != 1 || !strings.HasSuffix(reports[0], " has not returned within 30s of SIGTERM; the function must return when its context is done") {
			t.Errorf("reported: %q", reports)
		}
		close(end)
	})
}

func TestWhatAFunctionSees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []string
		start(t, func(_ context.Context, c *Container) error {
			none, set := c.LookupEnv("C")
			for what, expected := range map[string]bool{
				"the last value of a variable": c.Getenv("A") == "3" && c.Getenv("B") == "2", "an unset variable": !set && none == "", "the folder": c.Dir == "/",
			} {
				if !expected {
					t.Errorf("%s is wrong: %v, %s", what, c.Environment, c.Dir)
				}
			}
			if input, err := io.ReadAll(c.Stdin); len(input) > 0 || err != nil {
				t.Errorf("without stdin it reads %q, %v", input, err)
			}
			if _, err := c.Listen("tcp", ":80"); err == nil || err.Error() != "the pod does not have a network" {
				t.Errorf("without a network: %v", err)
			}
			return nil
		}, &reports)
	})
}
