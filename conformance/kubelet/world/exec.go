package world

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/conformance/kubelet/program"
	"github.com/fakecluster/fakecluster/workloads"
)

// execute runs the programs of a container of the node agent.
func execute(start program.Start, read program.Read) func(ctx context.Context, command *workloads.ExecCommand) error {
	began := time.Now()
	return func(ctx context.Context, command *workloads.ExecCommand) error {
		code, output, err := start.Exec(ctx, command.Args, time.Since(began), read)
		if err != nil {
			return err
		}
		fmt.Fprint(command.Stderr, output)
		return workloads.Exit(code)
	}
}

// reader reads files and variables of a container.
func reader(c *workloads.Container) program.Read {
	return func(name string) (string, bool) {
		if variable, ok := strings.CutPrefix(name, "$"); ok {
			return c.LookupEnv(variable)
		}
		data, err := c.ReadFile(name)
		return string(data), err == nil
	}
}

// serve serves the port of a container that has just begun to listen, until the container ends.
func serve(ctx context.Context, c *workloads.Container, port int, start program.Start) {
	listener, err := c.Listen("tcp", net.JoinHostPort("", strconv.Itoa(port)))
	if err != nil {
		return // the container has ended
	}
	began := time.Now().Add(-start.Listens)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start.Serve(w, r.URL.Path, func(probe string) bool { return start.Healthy(probe, time.Since(began)) })
	})}
	server.SetKeepAlivesEnabled(false)
	_ = server.Serve(listener) // it ends with the container
}
