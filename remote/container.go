package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Image runs the containers of an image as a Go function of this process, each start on a goroutine of its own, in the bubble if the cluster is in
// one. name is an image with or without a tag, or a pattern of path.Match; the first Image that matches runs. It needs [Workloads].
//
// ctx is canceled by SIGTERM: when the Pod is deleted, when a liveness probe fails, and at the end of the
// test. The function has to return within the grace period. One that does not fails the test, with the names
// of its container and Pod. Returning nil is exit code 0, an error is exit code 1 with the error in the log,
// [Exit] is any other, and a panic is exit code 2 with the stack in the log. Then the container is restarted
// as restartPolicy says.
//
// [Cluster.RunWorkloads] of a fork runs the functions of its origin.
func Image(name string, run func(ctx context.Context, p *Container) error) Option {
	return func(s settings) error {
		if run == nil {
			return fmt.Errorf("Image: the function for %s is nil", name)
		}
		made := s.call(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			serveContainer(w, req, func(ctx context.Context, p *Container, _ *ExecCommand) error { return run(ctx, p) })
		}))
		made.lasting = true
		add(s, "images", struct {
			Name string `json:"name"`
			*callable
		}{name, made})
		return nil
	}
}

// Program runs the containers of an image as a program of this machine, in real time, on Linux, as
// workloads.Command does. A path with a slash is relative to the working directory, which is the folder of
// the test. It needs [Workloads], and does not work in a bubble.
func Program(image, path string, args ...string) Option {
	return func(s settings) error {
		add(s, "programs", map[string]any{"image": image, "path": path, "args": append([]string{}, args...)})
		return nil
	}
}

// exitError is the error of Exit.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Exit returns an error with which the function of an [Image], or a program of [Container.HandleExec], ends with an exit code from 0 to 255.
func Exit(code int) error { return exitError(code) }

// Container is the container in which the function of an [Image] runs. Its methods are safe for concurrent
// use. They have the names and the meaning of those of workloads.Container.
type Container struct {
	// Name and Image are those of the container in the specification of the Pod.
	Name, Image string
	// Pod is the Pod as it was when the container started, as JSON.
	Pod json.RawMessage
	// Command and Args are those of the specification, with $(NAME) replaced.
	Command, Args []string
	// Dir is the working directory of the specification, or "/".
	Dir string
	// Hostname is the name of the Pod as a host, and IP its address.
	Hostname, IP string
	// Environment has "NAME=value" for each variable, in the order of the names.
	Environment []string
	// Stdin is the input of attached clients if the specification has stdin: true, and empty
	// otherwise.
	Stdin io.Reader
	// Stdout and Stderr go to the log of the container.
	Stdout, Stderr io.Writer

	cluster *Cluster
	id      string

	mu      sync.Mutex
	token   string // the token of the Pod when it was last read
	read    time.Time
	handled map[string]uint64 // the functions of HandleExec, by name
}

// ExecCommand is a command that runs in a container: see [Container.HandleExec].
type ExecCommand struct {
	Args           []string // with the name of the program
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool // the streams are those of a terminal
	Container      *Container
}

// startedContainer is the request that starts a function.
type startedContainer struct {
	Container, Cluster, URL    string
	Name, Image                string
	Pod                        json.RawMessage
	Command, Args, Environment []string
	Dir, Hostname, IP          string
	TTY                        bool
}

// serveContainer runs a function in a container until it returns.
func serveContainer(w http.ResponseWriter, req *http.Request, run func(context.Context, *Container, *ExecCommand) error) {
	var started startedContainer
	if err := json.NewDecoder(req.Body).Decode(&started); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c, err := clusterOf(req.Context(), started)
	if err != nil {
		http.Error(w, err.Error(), http.StatusGone)
		return
	}
	p := &Container{
		Name: started.Name, Image: started.Image, Pod: started.Pod, Command: started.Command, Args: started.Args, Dir: started.Dir, Hostname: started.Hostname,
		IP: started.IP, Environment: started.Environment, cluster: c, id: started.Container,
	}
	p.Stdin, p.Stdout, p.Stderr = &input{container: p}, output{p, "stdout"}, output{p, "stderr"}
	defer p.forgetHandled()
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	go func() {
		if _, err := p.act(ctx, map[string]any{"action": "awaitSignal"}); err == nil {
			cancel()
		}
	}()
	text, err := json.Marshal(endedContainer(p.run(ctx, run, &ExecCommand{Args: started.Command, Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, TTY: started.TTY, Container: p})))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// The errors of functions that have not returned.
var (
	errPanicked = errors.New("panic") // the log has the stack
	errGoexit   = errors.New("the function has ended its goroutine with runtime.Goexit, as t.Fatal and t.FailNow do; it must return")
)

// run calls the function on a goroutine of its own, which it may end.
func (p *Container) run(ctx context.Context, run func(context.Context, *Container, *ExecCommand) error, command *ExecCommand) error {
	ended := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() {
			if what := recover(); what != nil {
				fmt.Fprintf(p.Stderr, "panic: %v\n\n%s", what, debug.Stack())
				err = errPanicked
			} else if err == errGoexit {
				fmt.Fprintln(p.Stderr, err)
			}
			ended <- err
		}()
		err = run(ctx, p, command)
	}()
	return <-ended
}

// endedContainer returns the answer for the error of a function.
func endedContainer(err error) map[string]any {
	code := exitError(0)
	switch {
	case err == nil:
		return map[string]any{"code": 0}
	case errors.Is(err, errPanicked), errors.Is(err, errGoexit):
		return map[string]any{"code": 2}
	case errors.As(err, &code):
		return map[string]any{"code": int(code) & 0xff}
	}
	return map[string]any{"error": err.Error()}
}

// result is the result of an action in a container.
type result struct {
	Data                              []byte
	Files                             []fileInfo
	Path, Local, Remote, Failed, Kind string
	Socket, Code                      int
}

// kinds maps the kinds of errors that the host sends to the errors of this process.
var kinds = map[string]error{
	"notExist": fs.ErrNotExist, "exist": fs.ErrExist, "permission": fs.ErrPermission, "readOnly": syscall.EROFS, "refused": syscall.ECONNREFUSED,
	"closed": net.ErrClosed, "eof": io.EOF, "timeout": os.ErrDeadlineExceeded, "inUse": syscall.EADDRINUSE,
}

// containerError is an error of an action in a container, with the text of the host.
type containerError struct {
	text string
	kind error
}

func (e *containerError) Error() string { return e.text }
func (e *containerError) Unwrap() error { return e.kind }

// act carries out an action in the container.
func (p *Container) act(ctx context.Context, action map[string]any) (result, error) {
	return p.cluster.act(ctx, "/containers/"+p.id, action)
}

// act carries out an action, by a request to the host.
func (c *Cluster) act(ctx context.Context, path string, action map[string]any) (r result, err error) {
	if err := c.doWith(withoutHurry(ctx), "POST", path, action, &r); err != nil {
		return r, err
	}
	switch {
	case r.Failed == "":
		return r, nil
	case r.Kind == "eof":
		return r, io.EOF
	}
	return r, &containerError{r.Failed, kinds[r.Kind]}
}

func (p *Container) do(action map[string]any) (result, error) {
	return p.act(context.Background(), action)
}

// output is a standard stream.
type output struct {
	container *Container
	stream    string
}

func (o output) Write(data []byte) (int, error) {
	if _, err := o.container.do(map[string]any{"action": "output", "stream": o.stream, "data": data}); err != nil {
		return 0, err
	}
	return len(data), nil
}

// input is the standard input.
type input struct {
	container *Container
	mu        sync.Mutex
	rest      []byte
}

func (i *input) Read(data []byte) (int, error) {
	i.mu.Lock()
	rest := i.rest
	i.mu.Unlock()
	if len(rest) == 0 {
		r, err := i.container.do(map[string]any{"action": "input"})
		if err != nil {
			return 0, err
		}
		rest = r.Data
	}
	n := copy(data, rest)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rest = rest[n:]
	return n, nil
}

// Getenv returns the value of a variable of the environment, as os.Getenv. It is empty if the variable is not set.
func (p *Container) Getenv(name string) string {
	value, _ := p.LookupEnv(name)
	return value
}

// LookupEnv returns the value of a variable of the environment, and whether it is set, as os.LookupEnv.
func (p *Container) LookupEnv(name string) (value string, set bool) {
	for i := len(p.Environment) - 1; i >= 0; i-- {
		if value, set = strings.CutPrefix(p.Environment[i], name+"="); set {
			return value, true
		}
	}
	return "", false
}

// ReadFile reads a file, as os.ReadFile. A relative name is below Dir.
func (p *Container) ReadFile(name string) ([]byte, error) {
	r, err := p.do(map[string]any{"action": "readFile", "path": name})
	if err == nil && r.Data == nil {
		r.Data = []byte{}
	}
	return r.Data, err
}

// WriteFile writes a file, as os.WriteFile, and creates its directory. In read-only volumes it fails with
// syscall.EROFS.
func (p *Container) WriteFile(name string, data []byte, mode fs.FileMode) error {
	_, err := p.do(map[string]any{"action": "writeFile", "path": name, "data": data, "mode": uint32(mode)})
	return err
}

// Mkdir creates a directory and its parents, as os.MkdirAll.
func (p *Container) Mkdir(name string) error {
	_, err := p.do(map[string]any{"action": "mkdir", "path": name})
	return err
}

// Remove removes a file, or a directory with its content, as os.RemoveAll. It returns nil if the file does
// not exist.
func (p *Container) Remove(name string) error {
	_, err := p.do(map[string]any{"action": "remove", "path": name})
	return err
}

// Folder returns the path on disk of a mounted volume, for code that needs paths. name is a mount path or a
// path below one.
func (p *Container) Folder(name string) (string, error) {
	r, err := p.do(map[string]any{"action": "folder", "path": name})
	return r.Path, err
}

// accountPath is where the token of the pod's ServiceAccount is mounted.
const accountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// ErrNotInCluster is the error of Config for a Pod without the variables that clients need.
var ErrNotInCluster = errors.New("unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined")

// Config returns the address of the cluster and the mounted token of the Pod's ServiceAccount. Give clients
// the transport of [Container.Transport], which reads the token again when it is renewed:
//
//	cfg, err := p.Config()
//	…
//	&rest.Config{Host: cfg.Host, BearerToken: cfg.BearerToken, Transport: p.Transport(), QPS: -1}
//
// It fails if there is no token, because automountServiceAccountToken is false, or because the Pod was created before the workloads ran.
func (p *Container) Config() (Config, error) {
	if _, set := p.LookupEnv("KUBERNETES_SERVICE_HOST"); !set {
		return Config{}, ErrNotInCluster
	}
	token, err := p.ReadFile(accountPath + "/token")
	if err != nil {
		return Config{}, fmt.Errorf("the token of the ServiceAccount: %w", err)
	}
	d := p.cluster.description
	return Config{Host: d.URL, BearerToken: string(token), CAData: pem(d.CertificateAuthority)}, nil
}

// Transport returns an http.RoundTripper for clients of the cluster. It sends the mounted token of the Pod,
// and reads it again every minute.
func (p *Container) Transport() http.RoundTripper {
	return mountedToken{p, p.cluster.Transport()}
}

// mountedToken sends requests with the token that is mounted.
type mountedToken struct {
	container *Container
	next      http.RoundTripper
}

// WrappedRoundTripper returns the transport of the cluster, as client-go's wrappers do.
func (m mountedToken) WrappedRoundTripper() http.RoundTripper { return m.next }

// tokenAge is how long a token is used before it is read again. A kubelet updates mounted tokens within a
// minute, too.
const tokenAge = time.Minute

func (m mountedToken) RoundTrip(req *http.Request) (*http.Response, error) {
	p := m.container
	p.mu.Lock()
	token, old := p.token, time.Since(p.read) > tokenAge
	p.mu.Unlock()
	if old {
		if text, err := p.ReadFile(accountPath + "/token"); err == nil {
			token = string(text)
			p.mu.Lock()
			p.token, p.read = token, time.Now()
			p.mu.Unlock()
		}
	}
	if token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return m.next.RoundTrip(req)
}
