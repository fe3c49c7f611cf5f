// Package images has container images of Kubernetes' e2e suite as Go functions, for workloads.Image: agnhost, busybox,
// etcd, glibc-dns-testing, httpd, kitten, nautilus, nginx, nonewprivs, pause and sample-apiserver. What a program prints is what the specs of the suite look for.
package images

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"syscall"
	"testing/fstest"
	"time"

	"github.com/fakecluster/fakecluster/workloads"
)

// program is a program of an image. args has its name first.
type program = func(ctx context.Context, c *workloads.ExecCommand) error

// image is what an image has.
type image struct {
	name     string
	programs map[string]program
	// entrypoint and cmd are run if a container does not have a command, and no arguments.
	entrypoint, cmd []string
	files           map[string]string // by path
}

const registry = "registry.k8s.io/e2e-test-images/"

var known = []image{
	{registry + "agnhost", merged(clients, map[string]program{"agnhost": agnhost, "agnhost-2": agnhost}), []string{"/agnhost"}, []string{"pause"},
		map[string]string{"/localhost.crt": "Specs only ask for this certificate, and move it.\n"}},
	{registry + "busybox", map[string]program{"nc": nc, "hexdump": hexdump, "nslookup": nslookup, "wget": wget}, nil, []string{"sh"}, nil},
	{registry + "glibc-dns-testing", resolvers, nil, []string{"sh"}, nil},
	{registry + "httpd", map[string]program{"httpd": httpd}, nil, []string{"httpd"}, nil},
	{registry + "nautilus", map[string]program{"nautilus": nautilus}, nil, []string{"nautilus"}, nil},
	{registry + "nginx", map[string]program{"nginx": nginx}, nil, []string{"nginx"}, nil},
	{registry + "nonewprivs", map[string]program{"nnp": nonewprivs}, []string{"/usr/bin/nnp"}, nil, nil},
	{registry + "nonroot", nil, nil, []string{"sh"}, nil}, // its user is known to the node agent
	{registry + "sample-apiserver", map[string]program{"kube-sample-apiserver": sampleAPIServer}, []string{"/kube-sample-apiserver"}, nil, nil},
	// A driver for dynamic resources that the suite runs itself. Its specs of the control plane only need the container.
	{"registry.k8s.io/sig-storage/hostpathplugin", nil, nil, []string{"sh"}, nil},
	{"registry.k8s.io/etcd", map[string]program{"etcd": etcd}, nil, nil, nil},
	{"registry.k8s.io/pause", map[string]program{"pause": pause}, []string{"/pause"}, nil, nil},
}

// shells are programs of every image.
var shells = map[string]program{
	"awk": awk, "bash": sh, "cut": cut, "expr": expr, "find": find, "grep": grep, "ip": ip, "mv": mv, "seq": seq, "sh": sh, "sysctl": sysctl,
	"tail": tail, "wc": wc,
	"head": head, "mount": mount,
}

// kitten are files of an image that a spec mounts.
var kitten = fstest.MapFS{
	"data.json":      {Data: []byte(`{"image": "kitten.jpg"}` + "\n"), Mode: 0o644},
	"etc/os-release": {Data: []byte("NAME=\"Alpine Linux\"\n"), Mode: 0o644},
}

// Options returns the options for all images.
func Options() []workloads.Option {
	var options []workloads.Option
	for _, i := range known {
		options = append(options, workloads.Image(i.name, i.run))
	}
	return append(options, workloads.ImageFiles(registry+"kitten", kitten))
}

// teardown is about what a container runtime takes to end a container. A spec reads a Pod that it has just deleted.
const teardown = 200 * time.Millisecond

// run is the first process of a container.
func (i image) run(ctx context.Context, c *workloads.Container) error {
	for name, run := range merged(i.programs, shells) {
		c.HandleExec(name, run)
	}
	for name, content := range i.files {
		// A read-only file system does without: no spec looks for the files there.
		if err := c.WriteFile(name, []byte(content), 0o644); err != nil && !errors.Is(err, syscall.EROFS) {
			return err
		}
	}
	command := c.Command
	switch {
	case len(command) > 0:
		command = append(command[:len(command):len(command)], c.Args...)
	case len(c.Args) > 0:
		command = append(i.entrypoint[:len(i.entrypoint):len(i.entrypoint)], c.Args...)
	default:
		command = append(i.entrypoint[:len(i.entrypoint):len(i.entrypoint)], i.cmd...)
	}
	code, err := c.Exec(ctx, command, c.Stdin, c.Stdout, c.Stderr)
	time.Sleep(teardown)
	switch {
	case err != nil:
		fmt.Fprintln(c.Stderr, err)
		return workloads.Exit(128)
	case ctx.Err() != nil && code == 0:
		return nil
	}
	return workloads.Exit(code)
}

func merged(a, b map[string]program) map[string]program {
	programs := maps.Clone(b)
	maps.Copy(programs, a)
	return programs
}

// pause waits for SIGTERM.
func pause(ctx context.Context, c *workloads.ExecCommand) error {
	fmt.Fprintln(c.Stdout, "Paused")
	<-ctx.Done()
	return nil
}
