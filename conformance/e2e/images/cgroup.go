package images

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/workloads"
)

// mount lists the file systems of a type that a container has mounted: its cgroup.
func mount(_ context.Context, c *workloads.ExecCommand) error {
	if slices.Equal(c.Args[1:], []string{"-t", "cgroup2"}) {
		fmt.Fprintln(c.Stdout, "cgroup on /sys/fs/cgroup type cgroup2 (ro,nosuid,nodev,noexec,relatime)")
	}
	return nil
}

// head prints the first lines of a file.
func head(_ context.Context, c *workloads.ExecCommand) error {
	n, name := 10, c.Args[len(c.Args)-1]
	if len(c.Args) > 3 && c.Args[1] == "-n" {
		if _, err := fmt.Sscan(c.Args[2], &n); err != nil {
			fmt.Fprintf(c.Stderr, "head: invalid number '%s'\n", c.Args[2])
			return workloads.Exit(1)
		}
	}
	content, err := c.Container.ReadFile(name)
	if err != nil {
		fmt.Fprintf(c.Stderr, "head: %s: No such file or directory\n", name)
		return workloads.Exit(1)
	}
	for line := range strings.Lines(string(content)) {
		if n--; n < 0 {
			break
		}
		fmt.Fprint(c.Stdout, line)
	}
	return nil
}
