package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// accountPath is where the token of the pod's ServiceAccount is mounted.
const accountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// Container is what a function finds in its container. Its methods are safe for concurrent use, also after the
// container has exited.
type Container struct {
	// Name and Image are those of the container in the specification of the Pod.
	Name, Image string
	// Pod is a copy of the Pod as it was when the container started.
	Pod *corev1.Pod
	// Command and Args are those of the specification, with $(NAME) replaced. Both may be empty, because an image may
	// have defaults; the function is the image.
	Command, Args []string
	// Dir is the working directory of the specification, or "/". Nothing interprets it: paths are absolute.
	Dir string
	// Hostname is the name of the Pod as a host, and IP its address.
	Hostname, IP string
	// Environment has "NAME=value" for each variable, in the order of the names, as os.Environ.
	Environment []string
	// Stdin is what clients send that are attached, if the specification has stdin: true, and empty otherwise. It ends when the
	// container exits, and with stdinOnce when the first client ends its input or leaves.
	Stdin io.Reader
	// Stdout and Stderr go to the log of the container.
	Stdout, Stderr io.Writer

	spec    *corev1.Container // read-only
	files   *files.Root
	config  func(token string) *clientrest.Config
	sockets *network.Process // nil: there is no network
	exec    execHandlers
	message atomic.Pointer[string] // the file on disk to which a program writes its termination message; nil: there is none
	killed  chan struct{}          // closed by SIGKILL
	kill    func()                 // closes it
}

func newContainer(p *process) *Container {
	spec := p.wanted
	c := &Container{
		Name: spec.Spec.Name, Image: spec.Spec.Image, Pod: spec.Pod.DeepCopy(), Command: spec.Command, Args: spec.Args, Dir: spec.Spec.WorkingDir,
		Hostname: spec.Hostname, IP: spec.IP, Environment: append([]string{"HOSTNAME=" + spec.Hostname}, spec.Environment...),
		Stdin: strings.NewReader(""), Stdout: spec.Log.Writer(stdio.Stdout), Stderr: spec.Log.Writer(stdio.Stderr),
		spec: spec.Spec, files: spec.Files, config: p.runtime.config.RESTConfig,
	}
	c.killed = make(chan struct{})
	c.kill = sync.OnceFunc(func() { close(c.killed) })
	if spec.Stdin != nil {
		c.Stdin = spec.Stdin
		c.kill = sync.OnceFunc(func() {
			close(c.killed)
			spec.Stdin.Close() // a program that reads it ends
		})
	}
	if spec.Host != nil {
		c.sockets = spec.Host.NewProcess()
	}
	if c.Dir == "" {
		c.Dir = "/"
	}
	return c
}

// Getenv returns the value of a variable of the environment, as os.Getenv. It is empty if the variable is not set.
func (c *Container) Getenv(name string) string {
	value, _ := c.LookupEnv(name)
	return value
}

// LookupEnv returns the value of a variable of the environment, and whether it is set, as os.LookupEnv.
func (c *Container) LookupEnv(name string) (value string, set bool) {
	for i := len(c.Environment) - 1; i >= 0; i-- {
		if value, set = strings.CutPrefix(c.Environment[i], name+"="); set {
			return value, true
		}
	}
	return "", false
}

// FS returns the files that the container sees, with all volumes at their mount paths. Names are as in package io/fs:
// "etc/config/key". Mounted ConfigMaps and Secrets are up to date within the minute that a kubelet takes.
func (c *Container) FS() fs.FS { return c.files }

// ReadFile reads a file, as os.ReadFile. A relative name is below Dir.
func (c *Container) ReadFile(name string) ([]byte, error) { return c.files.ReadFile(c.absolute(name)) }

// WriteFile writes a file, as os.WriteFile, and makes the directories that it lies in. Other containers that mount the
// same volume see it. In volumes that are read-only it fails with syscall.EROFS.
func (c *Container) WriteFile(name string, data []byte, mode fs.FileMode) error {
	return c.files.WriteFile(c.absolute(name), data, mode)
}

// Mkdir makes a directory, and those that it lies in.
func (c *Container) Mkdir(name string) error { return c.files.Mkdir(c.absolute(name)) }

// Remove removes a file, or a directory with everything in it. It does nothing if there is none.
func (c *Container) Remove(name string) error { return c.files.Remove(c.absolute(name)) }

// Folder returns a folder on disk with the content of a mounted volume, for code that needs paths. name is a mount path or
// lies below one. The first call makes the folder, and moves the volume there for all containers; it is removed with
// the volume.
func (c *Container) Folder(name string) (string, error) { return c.files.Folder(c.absolute(name)) }

func (c *Container) absolute(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(c.Dir, name)
}

// errNoNetwork is the error of a container that does not have a network.
var errNoNetwork = errors.New("the pod does not have a network")

// Listen listens on the Pod's network, which is in memory, as net.Listen: "tcp" and an address such as ":8443". Containers of a
// Pod share its ports. The listener ends with the container.
func (c *Container) Listen(network, address string) (net.Listener, error) {
	if c.sockets == nil {
		return nil, errNoNetwork
	}
	return c.sockets.Listen(network, address)
}

// ListenPacket opens a UDP port of the Pod, as net.ListenPacket: "udp" and an address such as ":53". It ends with the container.
func (c *Container) ListenPacket(network, address string) (net.PacketConn, error) {
	if c.sockets == nil {
		return nil, errNoNetwork
	}
	return c.sockets.ListenPacket(network, address)
}

// Dial connects the container with a Pod, a Service, or the API server, by address or by a name of the cluster's DNS, as
// net.Dialer.DialContext, with TCP or UDP. The connection ends with the container.
func (c *Container) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.sockets == nil {
		return nil, errNoNetwork
	}
	return c.sockets.Dial(ctx, network, address)
}

// HTTPClient returns a client that connects as [Container.Dial] does. Its idle connections end with the container.
func (c *Container) HTTPClient() *http.Client {
	if c.sockets == nil {
		return &http.Client{Transport: &http.Transport{DialContext: c.Dial}}
	}
	return c.sockets.HTTPClient()
}

// RESTConfig returns the configuration of a client that acts as the Pod's ServiceAccount, as rest.InClusterConfig does: with
// the token that is mounted, which each request reads again. It fails if there is none, because
// automountServiceAccountToken is false, or because the Pod was created before workloads.Run.
func (c *Container) RESTConfig() (*clientrest.Config, error) {
	if _, set := c.LookupEnv("KUBERNETES_SERVICE_HOST"); !set {
		return nil, clientrest.ErrNotInCluster
	}
	if c.Pod.Spec.ServiceAccountName == "" {
		return nil, errNoAccount
	}
	token, err := c.ReadFile(accountPath + "/token")
	if err != nil {
		return nil, fmt.Errorf("the token of the ServiceAccount: %w", err)
	}
	config := c.config(string(token))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return mountedToken{container: c, next: next}
	})
	return config, nil
}

var errNoAccount = errors.New("the Pod has no ServiceAccount and no token, because it was created before workloads.Run, which turns on the " +
	"admission plugin that adds them: create it afterwards, or let a Deployment create it")

// mountedToken sends requests with the token that is mounted at the time.
type mountedToken struct {
	container *Container
	next      http.RoundTripper
}

func (m mountedToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if token, err := m.container.ReadFile(accountPath + "/token"); err == nil {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(token))
	}
	return m.next.RoundTrip(r)
}
