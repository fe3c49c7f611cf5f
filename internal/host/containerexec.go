package host

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/fakecluster/fakecluster/workloads"
)

// handleExec adds a program that is a function of the client.
func handleExec(c call, r *running, a ContainerAction, _ *ContainerResult) error {
	handler, err := c.host.function(a.Function)
	if err != nil {
		return err
	}
	cl := c.cluster
	r.container.HandleExec(a.Name, func(ctx context.Context, command *workloads.ExecCommand) error {
		return cl.runFunction(handler, &running{container: r.container, ctx: ctx, stdin: command.Stdin, stdout: command.Stdout, stderr: command.Stderr},
			StartedContainer{Command: command.Args, TTY: command.TTY})
	})
	return nil
}

// execProgram runs a program with the streams of a function of the client, and waits until it has ended.
func execProgram(c call, r *running, a ContainerAction, result *ContainerResult) error {
	handler, err := c.host.function(a.Function)
	if err != nil {
		return err
	}
	stream := func(name string) execStream { return execStream{c, handler, name} }
	result.Code, err = r.container.Exec(c, a.Args, stream("stdin"), stream("stdout"), stream("stderr"))
	return err
}

// ExecTransfer is the request to the function of exec: to read stdin, or to write the output of the program.
type ExecTransfer struct {
	Stream string `json:"stream"`         // stdin, stdout or stderr
	Max    int    `json:"max,omitempty"`  // of stdin: the maximum number of bytes
	Data   []byte `json:"data,omitempty"` // of the others
}

// ExecTransferred is the answer to an ExecTransfer.
type ExecTransferred struct {
	Data   []byte `json:"data"`   // of stdin
	EOF    bool   `json:"eof"`    // stdin has ended
	Failed string `json:"failed"` // why the stream cannot be read or written
}

// execStream is a stream of the client.
type execStream struct {
	ctx     context.Context
	handler http.Handler
	name    string
}

// transfer calls the client. The answer may have both data and an error.
func (s execStream) transfer(t ExecTransfer) ([]byte, error) {
	t.Stream = s.name
	var answer ExecTransferred
	if err := ask(s.ctx, s.handler, t, &answer); err != nil {
		return nil, err
	}
	switch {
	case answer.Failed != "":
		return answer.Data, errors.New(answer.Failed)
	case answer.EOF:
		return answer.Data, io.EOF
	}
	return answer.Data, nil
}

// Read implements io.Reader.
func (s execStream) Read(p []byte) (int, error) {
	data, err := s.transfer(ExecTransfer{Max: min(len(p), maxInput)})
	return copy(p, data), err
}

// Write implements io.Writer.
func (s execStream) Write(p []byte) (int, error) {
	if _, err := s.transfer(ExecTransfer{Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}
