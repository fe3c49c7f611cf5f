package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// The limits of a run, which is a command of [Shell.Run] with everything that it runs. A run that exceeds one ends as a
// whole, so that a script never runs half.
const (
	// maxDepth is the maximal depth of programs that run one another.
	maxDepth = 100
	// maxWord is the size of an argument or a variable in bytes, as Linux limits it.
	maxWord = 128 << 10
	// maxWords is the size of the arguments or the variables of a program in bytes, as Linux limits it.
	maxWords = 2 << 20
	// maxHeld is the maximum of bytes in pipes, in files that are being written, and in running scripts.
	maxHeld = 64 << 20
	// maxWork is the maximum of work without a pause. A command is 1, and so is each block of 16 KiB that it reads or
	// writes.
	maxWork = 100_000
	// scriptSize is the maximum of memory in bytes for a byte of a script.
	scriptSize = 200
	// maxScript is the maximal size of a script in bytes.
	maxScript = maxHeld / scriptSize
	// maxProcesses is the maximum of concurrent commands of a run.
	maxProcesses = 1000
)

// errLimit is the error after a limit was exceeded. The cause of the context has the sentence.
var errLimit = errors.New("a limit of the shell of fakecluster")

// limits counts the resources of a run.
type limits struct {
	held, work  atomic.Int64
	running, id atomic.Int64 // of commands besides the first one
	processes   sync.WaitGroup
	end         context.CancelCauseFunc
}

// place is the place of a program in a run.
type place struct {
	limits *limits
	depth  int
	main   bool // it is the first command of the run
}

type placeKey struct{}

// limited returns a context with limits for a run, or with those of the run that it is part of.
func limited(ctx context.Context) (run context.Context, end func() error) {
	if _, inside := ctx.Value(placeKey{}).(place); inside {
		return ctx, func() error { return nil }
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l := &limits{end: cancel}
	ctx = context.WithValue(ctx, placeKey{}, place{limits: l, main: true})
	return ctx, func() error {
		defer l.processes.Wait()
		defer cancel(nil)
		if cause := context.Cause(ctx); errors.Is(cause, errLimit) {
			return cause
		}
		return nil
	}
}

// limitsOf returns the limits of a run.
func limitsOf(ctx context.Context) *limits {
	if p, ok := ctx.Value(placeKey{}).(place); ok {
		return p.limits
	}
	return &limits{end: func(error) {}} // for a context that is not one of Run
}

// deeper returns the context of a program that another one runs.
func deeper(ctx context.Context) (context.Context, error) {
	p, _ := ctx.Value(placeKey{}).(place)
	if p.limits == nil {
		p.limits = limitsOf(ctx)
	}
	if p.depth++; p.depth > maxDepth {
		return nil, p.limits.exceed("%d programs run inside one another", maxDepth)
	}
	return context.WithValue(ctx, placeKey{}, p), nil
}

// takeMain reports whether the command of a context is the first one of its run. It returns a context for the commands
// that it runs, which are not.
func takeMain(ctx context.Context) (context.Context, bool) {
	p, _ := ctx.Value(placeKey{}).(place)
	if !p.main {
		return ctx, false
	}
	p.main = false
	return context.WithValue(ctx, placeKey{}, p), true
}

// withMain returns the context of a program that replaces the first command of a run.
func withMain(ctx context.Context) context.Context {
	p, _ := ctx.Value(placeKey{}).(place)
	p.main = true
	return context.WithValue(ctx, placeKey{}, p)
}

// start runs a function concurrently. The run does not end before the function.
func (l *limits) start(run func()) error {
	if l.running.Add(1) > maxProcesses {
		l.running.Add(-1)
		return l.exceed("%d commands run at the same time", maxProcesses)
	}
	l.processes.Add(1)
	go func() {
		defer l.processes.Done()
		defer l.running.Add(-1)
		run()
	}()
	return nil
}

// nextID returns the number of a process. The first command of a container is 1.
func (l *limits) nextID() int { return int(l.id.Add(1)) + 6 }

// exceed ends the run.
func (l *limits) exceed(format string, args ...any) error {
	err := fmt.Errorf("%s, which is %w", fmt.Sprintf(format, args...), errLimit)
	l.end(err)
	return err
}

// do counts a piece of work with a number of bytes.
func (l *limits) do(bytes int) error {
	if l.work.Add(1+int64(bytes>>14)) > maxWork {
		return l.exceed("%d commands run without a pause", maxWork)
	}
	return nil
}

// paused resets the counted work, because the run has waited and does not keep a processor busy.
func (l *limits) paused() { l.work.Store(0) }

// hold counts bytes that are in memory until release.
func (l *limits) hold(bytes int) error {
	if l.held.Add(int64(bytes)) > maxHeld {
		return l.exceed("%d MiB are in scripts, pipes and files that are being written", maxHeld>>20)
	}
	return nil
}

func (l *limits) release(bytes int) { l.held.Add(-int64(bytes)) }

// word checks the size of a word during its expansion.
func (l *limits) word(size int) error {
	if size > maxWord {
		return l.exceed("an argument or a variable has %d KiB", maxWord>>10)
	}
	return nil
}

// words checks the size of the arguments or the variables of a program.
func (l *limits) words(size int) error {
	if size > maxWords {
		return l.exceed("the arguments or the variables of a program have %d MiB", maxWords>>20)
	}
	return nil
}

// sizeOf returns the size of words, as Linux counts it: with a zero byte and a pointer for each.
func sizeOf(words []string) (size int) {
	for _, w := range words {
		size += len(w) + 9
	}
	return size
}

// buffer is the content of a pipe or of a file that is being written. Its bytes count as held until discard.
type buffer struct {
	content bytes.Buffer // not embedded, because its other methods write without limits
	limits  *limits
	held    int
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.held += len(p)
	if err := errors.Join(b.limits.hold(len(p)), b.limits.do(len(p))); err != nil {
		return 0, err
	}
	return b.content.Write(p)
}

// Read implements io.Reader.
func (b *buffer) Read(p []byte) (int, error) {
	n, err := b.content.Read(p)
	b.held -= n
	b.limits.release(n)
	return n, err
}

func (b *buffer) discard() {
	b.limits.release(b.held)
	b.held = 0
}
