package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads"
)

// Image is an image whose containers run as a function in the process of the client.
type Image struct {
	Name string `json:"name" doc:"the name of the image, with or without a tag, or a pattern of path.Match"`
	Function
}

// StartedContainer is the request to the handler of an image when a container starts, or to the handler of a program
// when it is run. The answer is an EndedContainer, after the function has returned.
type StartedContainer struct {
	Container   string      `json:"container"` // for actOnContainer
	Cluster     string      `json:"cluster"`
	URL         string      `json:"url"` // of the cluster
	Name        string      `json:"name,omitempty"`
	Image       string      `json:"image,omitempty"`
	Pod         *corev1.Pod `json:"pod,omitempty"`
	Command     []string    `json:"command,omitempty"` // of a program: with its name
	Args        []string    `json:"args,omitempty"`
	Dir         string      `json:"dir,omitempty"`
	Hostname    string      `json:"hostname,omitempty"`
	IP          string      `json:"ip,omitempty"`
	Environment []string    `json:"environment,omitempty"`
	TTY         bool        `json:"tty,omitempty"`
}

// EndedContainer is the result of a function.
type EndedContainer struct {
	Code  int    `json:"code"`  // if Error is empty
	Error string `json:"error"` // for the log
}

// ContainerAction is an action of a function, which runs in the process of the client, in its container.
type ContainerAction struct {
	Action  string      `json:"action" doc:"output, input, awaitSignal, readFile, writeFile, mkdir, remove, stat, readDir, folder, listen, listenPacket, dial, accept, read, write, readFrom, writeTo, closeWrite, close, handleExec or exec"`
	Stream  string      `json:"stream,omitempty" doc:"of output: stdout or stderr"`
	Data    []byte      `json:"data,omitempty" doc:"of output, writeFile, write and writeTo: the bytes, in base64"`
	Path    string      `json:"path,omitempty" doc:"of files; a relative path begins at the working directory"`
	Mode    fs.FileMode `json:"mode,omitempty" doc:"of writeFile: the permissions of a new file"`
	Network string      `json:"network,omitempty" doc:"of listen and dial: tcp, or udp for dial; of listenPacket: udp"`
	Address string      `json:"address,omitempty" doc:"of listen, listenPacket and dial, such as :8443; of writeTo: an IP and a port"`
	Socket  int         `json:"socket,omitempty" doc:"of accept, read, write, readFrom, writeTo, closeWrite and close: what listen, listenPacket, dial or accept have returned"`
	Name    string      `json:"name,omitempty" doc:"of handleExec: the name of the program"`
	Args    []string    `json:"args,omitempty" doc:"of exec: the program and its arguments; the function reads and writes its streams"`
	Function
}

// ContainerResult is the result of an action.
type ContainerResult struct {
	Data   []byte     `json:"data,omitempty" doc:"what was read, in base64"`
	Files  []FileInfo `json:"files,omitempty" doc:"of stat: the file; of readDir: those in the folder, by name"`
	Path   string     `json:"path,omitempty" doc:"of folder: the folder on disk"`
	Socket int        `json:"socket,omitempty" doc:"of listen, listenPacket, dial and accept: names the socket for further actions"`
	Local  string     `json:"local,omitempty" doc:"the local address of the socket"`
	Remote string     `json:"remote,omitempty" doc:"the remote address of the socket; of readFrom: that of the sender"`
	Code   int        `json:"code,omitempty" doc:"of exec: the exit code of the program"`
	Failed string     `json:"failed,omitempty" doc:"why the action has failed in the container, as for a file that does not exist"`
	Kind   string     `json:"kind,omitempty" doc:"the kind of that error: notExist, exist, permission, readOnly, refused, closed, eof, timeout or inUse"`
}

// FileInfo describes a file of a container.
type FileInfo struct {
	Name    string      `json:"name" doc:"the name in its folder"`
	Size    int64       `json:"size" doc:"in bytes"`
	Mode    fs.FileMode `json:"mode" doc:"the type and the permissions, as bits of Go's fs.FileMode"`
	ModTime time.Time   `json:"modTime" doc:"when it was last changed"`
}

// running is a function in the process of the client that runs in a container: the function of its image, or of a
// program.
type running struct {
	container *workloads.Container
	ctx       context.Context // until SIGTERM
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	sockets   map[int]any // listeners and connections; guarded by the lock of the cluster
}

// imageOptions returns the options for the images of a cluster.
func (c *cluster) imageOptions() (options []workloads.Option, err error) {
	for _, image := range c.images {
		handler, err := c.host.function(image.Function)
		if err != nil {
			return nil, fmt.Errorf("images: %s: %w", image.Name, err)
		}
		options = append(options, workloads.Image(image.Name, func(ctx context.Context, p *workloads.Container) error {
			return c.runFunction(handler, &running{container: p, ctx: ctx, stdin: p.Stdin, stdout: p.Stdout, stderr: p.Stderr}, StartedContainer{
				Name: p.Name, Image: p.Image, Pod: p.Pod, Command: p.Command, Args: p.Args, Dir: p.Dir, Hostname: p.Hostname, IP: p.IP, Environment: p.Environment,
			})
		}))
	}
	return options, nil
}

// runFunction calls a function of the client and waits until it returns.
func (c *cluster) runFunction(handler http.Handler, r *running, started StartedContainer) error {
	r.sockets = map[int]any{}
	c.mu.Lock()
	c.ran++
	started.Container = strconv.Itoa(c.ran)
	c.running[started.Container] = r
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.running, started.Container)
		c.mu.Unlock()
	}()
	started.Cluster, started.URL = c.id, c.URL()
	var ended EndedContainer
	if err := ask(c.alive, handler, started, &ended); err != nil {
		return err
	}
	if ended.Error != "" {
		return errors.New(ended.Error)
	}
	if ended.Code != 0 {
		return workloads.Exit(ended.Code)
	}
	return nil
}

// ask calls a function of the client with JSON, and reads its answer.
func ask(ctx context.Context, handler http.Handler, request, into any) (err error) {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://fakecluster/", bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.RequestURI = "/"
	req.Header.Set("Content-Type", "application/json")
	answer := recorder{header: http.Header{}, code: http.StatusOK}
	defer func() {
		if what := recover(); what != nil {
			err = fmt.Errorf("the function did not end: %v", what)
		}
	}()
	handler.ServeHTTP(&answer, req)
	if answer.code != http.StatusOK {
		return fmt.Errorf("the function cannot be called: %s", bytes.TrimSpace(answer.body.Bytes()))
	}
	return json.Unmarshal(answer.body.Bytes(), into)
}

// actOnContainer performs an action of a function of the client.
func actOnContainer(c call, a ContainerAction) (result ContainerResult, err error) {
	c.cluster.mu.Lock()
	r := c.cluster.running[c.path("container")]
	c.cluster.mu.Unlock()
	if r == nil {
		return result, refuse(http.StatusNotFound, "the container has ended: its function has returned, or was killed after the grace period")
	}
	act, ok := containerActions[a.Action]
	if !ok {
		return result, refuse(http.StatusBadRequest, "action: there is no %.100q; there are %s", a.Action, strings.Join(slices.Sorted(maps.Keys(containerActions)), ", "))
	}
	if err := act(c, r, a, &result); err != nil {
		result.Failed, result.Kind = err.Error(), kindOfError(err)
	}
	return result, nil
}

// kinds are the errors that the client can compare with errors.Is.
var kinds = []struct {
	kind string
	err  error
}{
	{"notExist", fs.ErrNotExist}, {"exist", fs.ErrExist}, {"permission", fs.ErrPermission}, {"readOnly", syscall.EROFS}, {"refused", syscall.ECONNREFUSED},
	{"closed", net.ErrClosed}, {"eof", io.EOF}, {"timeout", os.ErrDeadlineExceeded}, {"inUse", syscall.EADDRINUSE},
}

func kindOfError(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	return ""
}

// maxInput is the maximum number of bytes of one read: the largest packet of UDP.
const maxInput = 64 << 10

// containerActions are the actions of functions in their containers. An error is one of the container.
var containerActions = map[string]func(call, *running, ContainerAction, *ContainerResult) error{
	"output": func(_ call, r *running, a ContainerAction, _ *ContainerResult) error {
		to := r.stdout
		if a.Stream == "stderr" {
			to = r.stderr
		}
		_, err := to.Write(a.Data)
		return err
	},
	"input": func(_ call, r *running, _ ContainerAction, result *ContainerResult) error {
		return readSome(r.stdin, result)
	},
	"awaitSignal": func(c call, r *running, _ ContainerAction, _ *ContainerResult) error {
		select {
		case <-r.ctx.Done():
		case <-c.Done():
		case <-c.cluster.alive.Done():
		}
		return nil
	},
	"readFile": func(_ call, r *running, a ContainerAction, result *ContainerResult) (err error) {
		result.Data, err = r.container.ReadFile(a.Path)
		return err
	},
	"writeFile": func(_ call, r *running, a ContainerAction, _ *ContainerResult) error {
		return r.container.WriteFile(a.Path, a.Data, a.Mode)
	},
	"mkdir": func(_ call, r *running, a ContainerAction, _ *ContainerResult) error {
		return r.container.Mkdir(a.Path)
	},
	"remove": func(_ call, r *running, a ContainerAction, _ *ContainerResult) error {
		return r.container.Remove(a.Path)
	},
	"stat": func(_ call, r *running, a ContainerAction, result *ContainerResult) error {
		info, err := fs.Stat(r.container.FS(), inFS(r.container, a.Path))
		if err == nil {
			result.Files = []FileInfo{infoOf(info)}
		}
		return err
	},
	"readDir": func(_ call, r *running, a ContainerAction, result *ContainerResult) error {
		entries, err := fs.ReadDir(r.container.FS(), inFS(r.container, a.Path))
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil { // otherwise it was removed meanwhile
				result.Files = append(result.Files, infoOf(info))
			}
		}
		return err
	},
	"folder": func(_ call, r *running, a ContainerAction, result *ContainerResult) (err error) {
		result.Path, err = r.container.Folder(a.Path)
		return err
	},
	"listen": func(c call, r *running, a ContainerAction, result *ContainerResult) error {
		l, err := r.container.Listen(a.Network, a.Address)
		if err == nil {
			result.Socket, result.Local = c.cluster.addSocket(r, l), l.Addr().String()
		}
		return err
	},
	"dial": func(c call, r *running, a ContainerAction, result *ContainerResult) error {
		conn, err := r.container.Dial(c, a.Network, a.Address)
		if err == nil {
			c.cluster.addConnection(r, conn, result)
		}
		return err
	},
	"accept": func(c call, r *running, a ContainerAction, result *ContainerResult) error {
		l, ok := c.cluster.socket(r, a.Socket).(net.Listener)
		if !ok {
			return net.ErrClosed
		}
		conn, err := l.Accept()
		if err == nil {
			c.cluster.addConnection(r, conn, result)
		}
		return err
	},
	"read": func(c call, r *running, a ContainerAction, result *ContainerResult) error {
		return readSocket(c, r, a.Socket, result)
	},
	"write": func(c call, r *running, a ContainerAction, _ *ContainerResult) error {
		return writeSocket(c, r, a.Socket, a.Data)
	},
	"closeWrite": func(c call, r *running, a ContainerAction, _ *ContainerResult) error {
		return closeWrite(c, r, a.Socket)
	},
	"close": func(c call, r *running, a ContainerAction, _ *ContainerResult) error {
		return closeSocket(c, r, a.Socket)
	},
	"handleExec":   handleExec,
	"exec":         execProgram,
	"listenPacket": listenPacket,
	"readFrom":     readFrom,
	"writeTo":      writeTo,
}

// readSome reads the bytes that are available.
func readSome(r io.Reader, result *ContainerResult) error {
	if r == nil {
		return io.EOF
	}
	data := make([]byte, maxInput)
	n, err := r.Read(data)
	result.Data = data[:n]
	if n > 0 {
		return nil // the next read has the error
	}
	return err
}

// inFS returns a path in the form of package io/fs. A relative path begins at the working directory.
func inFS(p *workloads.Container, name string) string {
	if !path.IsAbs(name) {
		name = path.Join("/", p.Dir, name)
	}
	return cmp.Or(strings.Trim(path.Clean(name), "/"), ".")
}

func infoOf(i fs.FileInfo) FileInfo { return FileInfo{i.Name(), i.Size(), i.Mode(), i.ModTime()} }

func (c *cluster) addConnection(r *running, conn net.Conn, result *ContainerResult) {
	result.Socket, result.Local, result.Remote = c.addSocket(r, conn), conn.LocalAddr().String(), conn.RemoteAddr().String()
}

func (c *cluster) addSocket(r *running, socket any) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	r.sockets[c.opened] = socket
	return c.opened
}

// socket returns a socket of a function, or nil.
func (c *cluster) socket(r *running, number int) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.sockets[number]
}
