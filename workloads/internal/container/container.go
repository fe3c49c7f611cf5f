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

// Container is the container of a function. Its methods are safe for concurrent use, also after the container has
// exited.
type Container struct {
	// Name and Image are those of the container in the specification of the Pod.
	Name, Image string
	// Pod is a copy of the Pod at the start of the container.
	Pod *corev1.Pod
	// Command and Args are those of the specification, with $(NAME) replaced. Both may be empty.
	Command, Args []string
	// Dir is the working directory of the specification, or "/". Relative names of files are below it.
	Dir string
	// Hostname is the hostname of the Pod, and IP its address.
	Hostname, IP string
	// Environment has "NAME=value" for each variable, in the order of the names, like os.Environ.
	Environment []string
	// Stdin reads the input of attached clients if the specification has stdin: true; otherwise it is empty. It ends
	// when the container exits, and with stdinOnce when the first client ends its input or leaves.
	Stdin io.Reader
	// Stdout and Stderr go to the log of the container.
	Stdout, Stderr io.Writer

	spec    *corev1.Container // read-only
	files   *files.Root
	config  func(token string) *clientrest.Config
	sockets *network.Process // nil: there is no network
	exec    execHandlers
	message atomic.Pointer[string] // the file on disk for a program's termination message; nil: there is none
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

// Getenv returns the value of an environment variable, like os.Getenv. It returns "" if the variable is not set.
func (c *Container) Getenv(name string) string {
	value, _ := c.LookupEnv(name)
	return value
}

// LookupEnv returns the value of an environment variable, and whether it is set, like os.LookupEnv.
func (c *Container) LookupEnv(name string) (value string, set bool) {
	for i := len(c.Environment) - 1; i >= 0; i-- {
		if value, set = strings.CutPrefix(c.Environment[i], name+"="); set {
			return value, true
		}
	}
	return "", false
}

// FS returns the files of the container, with all volumes at their mount paths. Names are as in package io/fs:
// "etc/config/key". Like a kubelet, it updates mounted ConfigMaps and Secrets within a minute.
func (c *Container) FS() fs.FS { return c.files }

// ReadFile reads a file, like os.ReadFile. A relative name is below Dir.
func (c *Container) ReadFile(name string) ([]byte, error) { return c.files.ReadFile(c.absolute(name)) }

// WriteFile writes a file, like os.WriteFile, and creates its parent directories. Other containers that mount the same
// volume see it. In read-only volumes it fails with syscall.EROFS.
func (c *Container) WriteFile(name string, data []byte, mode fs.FileMode) error {
	return c.files.WriteFile(c.absolute(name), data, mode)
}

// Mkdir creates a directory and its parents, like os.MkdirAll.
func (c *Container) Mkdir(name string) error { return c.files.Mkdir(c.absolute(name)) }

// Remove removes a file, or a directory with its contents. It does nothing if there is none, like os.RemoveAll.
func (c *Container) Remove(name string) error { return c.files.Remove(c.absolute(name)) }

// Folder returns a folder on disk with the content of a mounted volume, for code that needs paths. name is a mount path
// or a path below one. The first call creates the folder, and moves the volume there for all containers; it is removed
// with the volume.
func (c *Container) Folder(name string) (string, error) { return c.files.Folder(c.absolute(name)) }

func (c *Container) absolute(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(c.Dir, name)
}

// errNoNetwork is the error of a container that does not have a network.
var errNoNetwork = errors.New("the pod does not have a network")

// Listen listens on the Pod's in-memory network, like net.Listen: network is "tcp", and address for example ":8443".
// Containers of a Pod share its ports. The listener closes when the container ends.
func (c *Container) Listen(network, address string) (net.Listener, error) {
	if c.sockets == nil {
		return nil, errNoNetwork
	}
	return c.sockets.Listen(network, address)
}

// ListenPacket opens a UDP port of the Pod, like net.ListenPacket: network is "udp", and address for example ":53". It
// closes when the container ends.
func (c *Container) ListenPacket(network, address string) (net.PacketConn, error) {
	if c.sockets == nil {
		return nil, errNoNetwork
	}
	return c.sockets.ListenPacket(network, address)
}

// Dial connects the container with a Pod, a Service, or the API server, by address or by a name of the cluster's DNS,
// over TCP or UDP, like net.Dialer.DialContext. The connection closes when the container ends.
func (c *Container) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.sockets == nil {
		return nil, errNoNetwork
	}
	return c.sockets.Dial(ctx, network, address)
}

// HTTPClient returns a client that connects with [Container.Dial].
func (c *Container) HTTPClient() *http.Client {
	if c.sockets == nil {
		return &http.Client{Transport: &http.Transport{DialContext: c.Dial}}
	}
	return c.sockets.HTTPClient()
}

// RESTConfig returns the configuration of a client that acts as the Pod's ServiceAccount, like rest.InClusterConfig.
// Each request reads the mounted token again. RESTConfig fails if there is none, because automountServiceAccountToken is
// false, or because the Pod was created before workloads.Run.
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

// mountedToken sends requests with the currently mounted token.
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
