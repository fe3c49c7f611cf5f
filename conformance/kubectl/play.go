package kubectl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// stepTimeout ends a command that hangs.
const stepTimeout = time.Minute

// played is what became of a section.
type played struct {
	got     map[*step]outcome
	took    time.Duration
	skipped string // why it was not played
}

// playAll plays sections, twice as many at once as there are cores, because most of them wait now and then; on real servers one
// after the other.
func (p programs) playAll(ctx context.Context, sections []*section) ([]played, error) {
	results := make([]played, len(sections))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	if p.real != "" {
		group.SetLimit(1)
	}
	for i, s := range sections {
		group.Go(func() (err error) {
			if p.real != "" && len(s.flags) > 0 {
				results[i].skipped = "its server is started with " + strings.Join(s.flags, " ")
				return nil
			}
			started := time.Now()
			if results[i].got, err = p.play(ctx, s); err != nil {
				return fmt.Errorf("section %s: %w", s.name, err)
			}
			results[i].took = time.Since(started)
			return nil
		})
	}
	return results, group.Wait()
}

// play runs the steps of a section against a server of its own and returns what each
// of them did.
func (p programs) play(ctx context.Context, s *section) (got map[*step]outcome, err error) {
	server, err := p.serve(ctx, s.flags)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	got = map[*step]outcome{}
	var behind *background
	for _, step := range s.steps {
		command, inBackground := step.inBackground()
		switch {
		case inBackground:
			if behind, err = server.start(ctx, command); err != nil {
				return nil, err
			}
			got[step] = outcome{stdout: behind.read(len(step.want.stdout))}
		case step.command == interrupt || step.command == foreground:
			if behind == nil {
				return nil, errors.New(s.name + ": nothing is in the background")
			}
			if step.command == interrupt {
				got[step] = outcome{stdout: behind.read(len(step.want.stdout))}
				behind.interrupt()
			} else {
				got[step] = behind.finish()
			}
			behind = nil
		default:
			got[step] = server.run(ctx, command)
		}
	}
	if behind != nil {
		behind.interrupt()
	}
	return got, nil
}

// run runs a command to its end.
func (s *server) run(ctx context.Context, line string) outcome {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := s.shell(ctx, line)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return outcome{stdout: mask(stdout.String()), stderr: mask(stderr.String()), exit: status(err)}
}

// status returns the exit status behind the error of a process; -1 if it was ended.
func status(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	default:
		return -1
	}
}

// background is a command that goes on while others run.
type background struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
	cancel context.CancelFunc
}

func (s *server) start(ctx context.Context, line string) (*background, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	b := &background{cmd: s.shell(ctx, line), cancel: cancel}
	b.cmd.Stderr = &b.stderr
	stdout, err := b.cmd.StdoutPipe()
	if err == nil {
		err = b.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	b.stdout = bufio.NewReader(stdout)
	return b, nil
}

// read returns the next n lines of stdout, fewer if the command ends before.
func (b *background) read(n int) []string {
	var lines strings.Builder
	for range n {
		line, err := b.stdout.ReadString('\n')
		lines.WriteString(line)
		if err != nil {
			break
		}
	}
	return mask(lines.String())
}

// finish waits for the command and returns what it did since the last read.
func (b *background) finish() outcome {
	defer b.cancel()
	rest, _ := io.ReadAll(b.stdout) // what ends it is in the exit status
	err := b.cmd.Wait()
	return outcome{stdout: mask(string(rest)), stderr: mask(b.stderr.String()), exit: status(err)}
}

// interrupt ends the command as a terminal does.
func (b *background) interrupt() {
	defer b.cancel()
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGINT) // it may have ended
	_, _ = io.Copy(io.Discard, b.stdout)
	_ = b.cmd.Wait() // it says that it was interrupted
}
