package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// HandleExec makes a program available in the container, for exec probes, hooks, kubectl exec, and the
// scripts of sh -c. name is the first word of the command, or the last element of its path. It replaces an
// earlier program of the same name, and a built-in one. The built-in programs are those of
// workloads.Container. An error of the host is written to Stderr of the container.
func (p *Container) HandleExec(name string, run func(ctx context.Context, command *ExecCommand) error) {
	one := &callable{lasting: true, handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		serveContainer(w, req, func(ctx context.Context, _ *Container, command *ExecCommand) error {
			command.Container = p
			return run(ctx, command)
		})
	})}
	err := p.cluster.register([]*callable{one})
	if err == nil {
		defer p.handles(name, one.Function)
		_, err = p.do(map[string]any{"action": "handleExec", "name": name, "function": one.Function, "url": one.URL})
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "HandleExec %s: %v\n", name, err)
	}
}

// handles records the function of a program, and releases the function that it replaces.
func (p *Container) handles(name string, function uint64) {
	p.mu.Lock()
	former := p.handled[name]
	if p.handled == nil {
		p.handled = map[string]uint64{}
	}
	p.handled[name] = function
	p.mu.Unlock()
	if former != 0 {
		p.cluster.forget(former)
	}
}

// forgetHandled releases the programs of a container that has ended.
func (p *Container) forgetHandled() {
	p.mu.Lock()
	handled := p.handled
	p.handled = nil
	p.mu.Unlock()
	for _, function := range handled {
		p.cluster.forget(function)
	}
}

// Exec runs a program in the container, one of [Container.HandleExec] or a built-in one, and returns its exit
// code. args has the name of the program first. A nil stdin is empty, and output to a nil stdout or stderr is
// dropped. When ctx ends, the program ends, and Exec returns the error of ctx. Exec also fails if the program
// does not exist, or if the host has ended. When Exec has returned, nothing is written to stdout and stderr
// any more; a read of stdin may still be running.
func (p *Container) Exec(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, err error) {
	var r result
	err = p.cluster.withStreams(&execStreams{stdin: stdin, stdout: stdout, stderr: stderr}, func(streams *callable) (err error) {
		r, err = p.act(ctx, map[string]any{"action": "exec", "args": args, "function": streams.Function, "url": streams.URL})
		return err
	})
	return r.Code, err
}

// withStreams calls a function with streams that the host can read and write until it returns.
func (c *Cluster) withStreams(streams *execStreams, do func(*callable) error) error {
	function := &callable{lasting: true, handler: streams}
	if err := c.register([]*callable{function}); err != nil {
		return err
	}
	defer c.forget(function.Function)
	defer streams.close()
	return do(function)
}

// execStreams are the streams of a program that [Container.Exec] or [Cluster.Exec] runs, which the host reads and writes.
type execStreams struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	mu     sync.Mutex // held while something is written
	closed bool
}

// close waits for a write that is in progress. Nothing is written after it.
func (s *execStreams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// write writes to a stream, unless it is nil.
func (s *execStreams) write(to io.Writer, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return io.ErrClosedPipe
	}
	if to == nil {
		return nil
	}
	_, err := to.Write(data)
	return err
}

// ServeHTTP implements http.Handler.
func (s *execStreams) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var asked struct {
		Stream string
		Max    int
		Data   []byte
	}
	if err := json.NewDecoder(req.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var answer struct {
		Data   []byte `json:"data,omitempty"`
		EOF    bool   `json:"eof,omitempty"`
		Failed string `json:"failed,omitempty"`
	}
	var err error
	switch {
	case asked.Stream == "stdout":
		err = s.write(s.stdout, asked.Data)
	case asked.Stream == "stderr":
		err = s.write(s.stderr, asked.Data)
	case s.stdin == nil:
		err = io.EOF
	default:
		data := make([]byte, asked.Max)
		var n int
		n, err = s.stdin.Read(data)
		answer.Data = data[:n]
	}
	if answer.EOF = errors.Is(err, io.EOF); err != nil && !answer.EOF {
		answer.Failed = err.Error()
	}
	text, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text)
}
