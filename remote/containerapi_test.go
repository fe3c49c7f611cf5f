//go:build go1.25

package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
)

// runInAPod runs a function in a container of a Pod, whose label "app" is its name, and waits until it has returned.
func runInAPod(t *testing.T, run func(ctx context.Context, p *Container) error) {
	t.Helper()
	everywhere(t, func(t *testing.T) {
		c := Start(t, Workloads("nodes: 1"), Image("probe", run))
		u := admin(t, c)
		u.must("POST", maps, configMap("config"))
		u.must("POST", pods, pod("probe", "probe", `"volumeMounts": [{"name": "config", "mountPath": "/etc/config"}],`,
			`"restartPolicy": "Never", "volumes": [{"name": "config", "configMap": {"name": "config"}}], `))
		c.WaitFor(t, Named("v1", "Pod", "", "probe"), CEL(`object.status.?phase.orValue("") in ["Succeeded", "Failed"]`))
		if log := u.text(pods + "/probe/log"); log != "" {
			t.Errorf("the log: %s", log)
		}
	})
}

func TestTheFilesOfAContainer(t *testing.T) {
	runInAPod(t, func(_ context.Context, p *Container) error {
		if err := errors.Join(p.WriteFile("/work/a/b", []byte("content"), 0o640), p.WriteFile("/work/empty", nil, 0o600)); err != nil {
			return err
		}
		work, err := fs.Sub(p.FS(), "work")
		if err != nil {
			return err
		}
		if err := fstest.TestFS(work, "a/b", "empty"); err != nil {
			return err
		}
		text, err := fs.ReadFile(p.FS(), "etc/config/n")
		if err != nil || string(text) != "1" {
			return fmt.Errorf("a mounted ConfigMap: %q %v", text, err)
		}
		info, err := fs.Stat(p.FS(), "work/a/b")
		if err != nil || info.Name() != "b" || info.Size() != 7 || info.Mode() != 0o640 || info.ModTime().IsZero() {
			return fmt.Errorf("stat: %v %v", info, err)
		}
		_, err = p.FS().Open("work/missing")
		if want := (&fs.PathError{}); !errors.As(err, &want) || !errors.Is(err, fs.ErrNotExist) || want.Path != "work/missing" {
			return fmt.Errorf("a missing file: %v", err)
		}
		return nil
	})
}

// unreadable is an input that fails.
type unreadable struct{}

func (unreadable) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

// waiting is an input that ends later: in a bubble after ten seconds.
type waiting struct{}

func (waiting) Read([]byte) (int, error) {
	if bubbles.Inside() {
		time.Sleep(10 * time.Second)
	}
	return 0, io.EOF
}

func TestAContainerRunsAProgram(t *testing.T) {
	runInAPod(t, func(ctx context.Context, p *Container) error {
		p.HandleExec("count", func(_ context.Context, command *ExecCommand) error {
			n, err := io.Copy(io.Discard, command.Stdin)
			fmt.Fprintf(command.Stdout, "%d %q", n, command.Args)
			if err != nil {
				return err
			}
			return Exit(3)
		})
		for _, test := range []struct {
			args           []string
			stdin          io.Reader
			code           int
			stdout, stderr string
			err            string
		}{
			{[]string{"sh", "-c", "cat; echo done >&2; exit 7"}, strings.NewReader("hello"), 7, "hello", "done\n", ""},
			{[]string{"count", "a b"}, bytes.NewReader(make([]byte, 100_000)), 3, `100000 ["count" "a b"]`, "", ""},
			{[]string{"cat"}, nil, 0, "", "", ""},
			{[]string{"missing"}, nil, 0, "", "", "missing"},
			{[]string{"cat"}, unreadable{}, 1, "", "", ""},
			{[]string{"cat"}, io.MultiReader(waiting{}, strings.NewReader("late")), 0, "late", "", ""},
		} {
			var stdout, stderr bytes.Buffer
			code, err := p.Exec(ctx, test.args, test.stdin, &stdout, &stderr)
			if code != test.code || stdout.String() != test.stdout || stderr.String() != test.stderr ||
				(err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				return fmt.Errorf("%q: %d %q %q %v", test.args, code, &stdout, &stderr, err)
			}
		}
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		ended := make(chan struct{})
		p.HandleExec("wait", func(ctx context.Context, command *ExecCommand) error {
			defer close(ended)
			for ctx.Err() == nil {
				if _, err := command.Stdout.Write([]byte("x")); err != nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			return nil
		})
		var stdout bytes.Buffer // which nobody writes to when Exec has returned
		if _, err := p.Exec(short, []string{"wait"}, nil, &stdout, nil); !errors.Is(err, context.DeadlineExceeded) || stdout.Len() == 0 {
			return fmt.Errorf("a program that is ended: %v, %d bytes", err, stdout.Len())
		}
		<-ended
		return nil
	})
}

func TestAContainerListensForPackets(t *testing.T) {
	runInAPod(t, func(ctx context.Context, p *Container) error {
		server, err := p.ListenPacket("udp", ":53")
		if err != nil {
			return err
		}
		answered := make(chan error, 1)
		go func() {
			data := make([]byte, 3) // the rest of a packet is lost
			n, from, err := server.ReadFrom(data)
			if err == nil {
				_, err = server.WriteTo(append([]byte("for "), data[:n]...), from)
			}
			answered <- err
		}()
		client, err := p.Dial(ctx, "udp", p.IP+":53")
		if err != nil {
			return err
		}
		if _, err := client.Write([]byte("hello")); err != nil {
			return err
		}
		data := make([]byte, 100)
		n, err := client.Read(data)
		if err != nil || string(data[:n]) != "for hel" {
			return fmt.Errorf("the answer: %q %v", data[:n], err)
		}
		if err := <-answered; err != nil {
			return err
		}
		if err := server.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return err
		}
		if _, _, err := server.ReadFrom(data); !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("nobody sends: %v", err)
		}
		for _, to := range []net.Addr{nil, &net.UnixAddr{Name: "nobody"}} {
			if _, err := server.WriteTo(data, to); err == nil {
				return fmt.Errorf("a packet is sent to %v", to)
			}
		}
		if err := server.Close(); err != nil {
			return err
		}
		if _, _, err := server.ReadFrom(data); !errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("reading from what is closed: %v", err)
		}
		return nil
	})
}
