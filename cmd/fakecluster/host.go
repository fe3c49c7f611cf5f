package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fakecluster/fakecluster/internal/collector"
	"github.com/fakecluster/fakecluster/internal/host"
	"github.com/fakecluster/fakecluster/internal/release"
)

// hostFlags has the flags of host.
type hostFlags struct {
	listen           int // -1: the Unix socket
	stay, background bool
}

// idleTime is how long a host waits for a client before it ends.
const idleTime = time.Minute

func hostCommand() *cobra.Command {
	var f hostFlags
	cmd := &cobra.Command{
		Use:   "host [flags]",
		Short: "Hold many clusters for programs in any language",
		Long: `Hold clusters for clients, behind a control API over HTTP and JSON, until SIGINT or
SIGTERM, or until no client has been connected for a minute. The clusters of a client
end with its connection. docs/remote.md describes the API.

The host listens on a Unix socket in your cache folder, which only you can use. There is
one such host for each version of Kubernetes: if it runs already, the command prints its
address and ends. As soon as the host answers, the command prints the line "ready
unix:SOCKET" on stdout.`,
		Example: `  fakecluster host --background
  fakecluster host --stay
  fakecluster host --listen 0`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logOwn(cmd.ErrOrStderr())
			if !cmd.Flags().Changed("listen") {
				f.listen = -1
			} else if f.listen < 0 || f.listen > 65535 {
				return usageError{fmt.Errorf("host: --listen: %d is not a port; write one from 1 to 65535, or 0 for a free one", f.listen)}
			}
			if err := f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
				return fmt.Errorf("host: %w", err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.listen, "listen", 0, `listen on this port of 127.0.0.1 in place of the Unix socket; 0 means a free port. The line
is then "ready URL TOKEN", and requests need the header Authorization: Bearer TOKEN`)
	flags.BoolVar(&f.stay, "stay", false, "keep running without clients")
	flags.BoolVar(&f.background, "background", false, "start the host in the background, and return when it is ready")
	return cmd
}

func (f *hostFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := release.Check(); err != nil {
		return err
	}
	build, err := ownBuild()
	if err != nil {
		return err
	}
	options := host.Options{Version: thisBuild().Version, Build: build, PID: os.Getpid(), Other: otherHost, Bubble: bubbles(ctx)}
	if !f.stay {
		options.Idle = idleTime
	}
	if f.background {
		return f.startInBackground(ctx, stdout)
	}
	if f.listen >= 0 {
		return serveHostOnPort(ctx, f.listen, options, stdout)
	}
	folder, err := hostFolder()
	if err != nil {
		return err
	}
	place, err := takePlace(ctx, folder, options, endTime)
	if err != nil {
		return err
	}
	if place == nil {
		return ready(stdout, "unix:"+socketIn(folder))
	}
	defer place.leave()
	return serveHost(ctx, place.listener, options, func() error {
		place.started()
		return ready(stdout, "unix:"+socketIn(folder))
	})
}

func ready(stdout io.Writer, words ...string) error {
	_, err := fmt.Fprintln(stdout, "ready", strings.Join(words, " "))
	return err
}

// serveHostOnPort serves a host on a port of its own. Its clients need a token.
func serveHostOnPort(ctx context.Context, port int, options host.Options, stdout io.Writer) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	options.Token = rand.Text()
	return serveHost(ctx, l, options, func() error { return ready(stdout, "http://"+l.Addr().String(), options.Token) })
}

// lastAnswers is how long a host waits at its end until running requests have been answered.
const lastAnswers = time.Second

// serveHost serves a host until it is done or the context ends. It calls listening when clients can connect.
func serveHost(ctx context.Context, l net.Listener, options host.Options, listening func() error) error {
	defer collector.RunLess()()
	h := host.New(options)
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	err := listening()
	if err == nil {
		select {
		case <-ctx.Done():
		case <-h.Done():
		}
	}
	_ = l.Close() // removes the socket, so that no client connects any more
	err = errors.Join(err, h.Close())
	answered, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
	defer cancel()
	_ = server.Shutdown(answered) // the client that ended the host gets its answer
	_ = server.Close()
	if end := <-served; !errors.Is(end, http.ErrServerClosed) && !errors.Is(end, net.ErrClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// ownBuild identifies this executable by its size and the time of its last change. Module remote computes the
// same text.
func ownBuild() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano()), nil
}

// hostFolder returns the folder with the socket of the host for the version and feature gates of this
// process. Only the user can access it.
func hostFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "fakecluster")
	if err := ownFolder(folder); err != nil {
		return "", err
	}
	folder = filepath.Join(folder, "host"+release.ProcessSuffix())
	if err := ownFolder(folder); err != nil {
		return "", err
	}
	if socket := socketIn(folder); len(socket) > maxSocket {
		return "", fmt.Errorf("%s is too long for a socket, whose path may have %d bytes: %s with a shorter path", socket, maxSocket, elsewhere)
	}
	return folder, os.Chmod(folder, 0o700)
}

// maxSocket is the longest path of a socket, in bytes, that all systems allow.
const maxSocket = 103

func socketIn(folder string) string { return filepath.Join(folder, "host.sock") }

// place is the right of this process to be the host of the socket.
type place struct {
	listener net.Listener
	started  func() // releases the lock of the start, so that other processes connect
	leave    func() // releases the lock of the running host
}

// endTime is how long a host waits for another one that is about to end, or to start. It is more than a cluster takes to close.
const endTime = 20 * time.Second

// takePlace returns the place of the host, or nil if a host of this version runs already. It waits, up to
// patience or until the context ends, for another host that is about to start or to end.
//
// It uses two lock files. starting.lock is locked while a host starts, so that only one starts at a time.
// running.lock is locked as long as a host runs, and contains its process ID. So the socket of a killed host
// is removed, and that of a running host is not.
func takePlace(ctx context.Context, folder string, options host.Options, patience time.Duration) (*place, error) {
	starting, err := awaitLock(ctx, filepath.Join(folder, "starting.lock"), patience)
	if err != nil {
		if errors.Is(err, errLocked) {
			err = fmt.Errorf("another host has been starting for %v, and has the file starting.lock in %s open: end its process", patience, folder)
		}
		return nil, err
	}
	running, err := lockFile(filepath.Join(folder, "running.lock"), false)
	if errors.Is(err, errLocked) {
		if there, err := joinHost(folder, options); there || err != nil {
			unlock(starting)
			return nil, err
		}
		running, err = awaitLock(ctx, filepath.Join(folder, "running.lock"), patience) // it is about to end
		if errors.Is(err, errLocked) {
			err = unreachable(folder)
		}
	}
	if err == nil {
		err = writeProcess(running)
	}
	if err != nil {
		unlock(starting)
		return nil, err
	}
	socket := socketIn(folder)
	l, err := listenUnix(socket)
	if err != nil {
		unlock(running)
		unlock(starting)
		return nil, err
	}
	return &place{listener: l, started: func() { unlock(starting) }, leave: func() { unlock(running) }}, nil
}

// awaitLock locks a file. If another process has locked it, it waits up to patience, or until the context
// ends.
func awaitLock(ctx context.Context, path string, patience time.Duration) (*os.File, error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	file, err := interruptible(waiting, "another host had started or ended", func() (*os.File, error) { return lockFile(path, true) }, unlock)
	switch {
	case err == nil || waiting.Err() == nil:
		return file, err
	case ctx.Err() != nil:
		return nil, fmt.Errorf("interrupted while another host starts or ends: %w", ctx.Err())
	}
	return nil, errLocked
}

// writeProcess writes the ID of this process to a file.
func writeProcess(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	return err
}

// unreachable returns the error for a running host to which no client can connect.
func unreachable(folder string) error {
	process, _ := os.ReadFile(filepath.Join(folder, "running.lock"))
	why := "does not answer"
	if _, err := os.Lstat(socketIn(folder)); errors.Is(err, os.ErrNotExist) {
		why = "no longer has its socket " + socketIn(folder) + ", which was removed"
	}
	return fmt.Errorf("the host that runs %s: end its process %s, and try again", why, process)
}

// listenUnix listens on a socket, in place of one that a killed host has left behind.
func listenUnix(socket string) (net.Listener, error) {
	switch info, err := os.Lstat(socket); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err := checkSocket(socket, info); err != nil {
			return nil, err
		}
		if err := os.Remove(socket); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	return l, os.Chmod(socket, 0o600)
}

// checkSocket returns an error for a file that is not a socket of this user.
func checkSocket(socket string, info os.FileInfo) error {
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, which is not followed: remove it", socket)
	case info.Mode()&os.ModeSocket == 0:
		return fmt.Errorf("%s is not a socket: remove it", socket)
	}
	return checkOwner(socket, info)
}

// joinHost reports whether the running host can be used. A host that is about to end cannot. joinHost asks a
// host of another build to end, which it does if it has no clients.
func joinHost(folder string, options host.Options) (there bool, err error) {
	socket := socketIn(folder)
	if info, err := os.Lstat(socket); err == nil {
		if err := checkSocket(socket, info); err != nil {
			return false, err
		}
	}
	client := unixClient(socket)
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://fakecluster/v1/info")
	if err != nil {
		if timeout := (net.Error)(nil); errors.As(err, &timeout) && timeout.Timeout() {
			return false, fmt.Errorf("the host at %s does not answer: end its process, which has the file running.lock beside it open", socket)
		}
		return false, nil
	}
	defer answer.Body.Close()
	var info host.Info
	if err := json.NewDecoder(answer.Body).Decode(&info); err != nil || answer.StatusCode != http.StatusOK {
		return false, fmt.Errorf("the process that listens at %s is not a host of fakecluster (%s): end it, and remove the socket", socket, answer.Status)
	}
	if info.Build == options.Build || info.Version == options.Version && info.Version != unreleased {
		return true, nil
	}
	ended, err := client.Post("http://fakecluster/v1/end", "application/json", nil)
	if err != nil {
		return false, nil
	}
	defer ended.Body.Close()
	if ended.StatusCode == http.StatusNoContent {
		return false, nil
	}
	return false, fmt.Errorf("a host of another build of fakecluster (%s) is in use at %s, and this is %s: wait until its clients have ended, or end its process %d", info.Version, socket, options.Version, info.PID)
}

// unixClient returns a client for a host at a socket.
func unixClient(socket string) *http.Client {
	var d net.Dialer
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", socket)
	}}}
}
