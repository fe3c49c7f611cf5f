package world

import (
	"context"
	"fmt"
	"time"

	"github.com/fakecluster/fakecluster/conformance/kubelet/program"
	"github.com/fakecluster/fakecluster/workloads"
)

// execute runs the programs of a container of the node agent.
func execute(start program.Start) func(ctx context.Context, command *workloads.ExecCommand) error {
	began := time.Now()
	return func(ctx context.Context, command *workloads.ExecCommand) error {
		code, output, err := start.Exec(ctx, command.Args, time.Since(began))
		if err != nil {
			return err
		}
		fmt.Fprint(command.Stderr, output)
		return workloads.Exit(code)
	}
}
