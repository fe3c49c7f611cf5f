package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// connection is a session with a host. Its clusters end with it.
type connection struct {
	network string // "unix" or "tcp"
	address string
	token   string
	session string
	pid     int      // the process of the host
	open    net.Conn // the session lives as long as it is open
	found   string   // a description of the host and the program, for the log
}

// The environment variables that change how the clusters of a host behave. Hosts inherit them.
const (
	versionVariable          = "FAKECLUSTER_KUBERNETES_VERSION"
	emulatedVariable         = "FAKECLUSTER_EMULATED_VERSION"
	minCompatibilityVariable = "FAKECLUSTER_MIN_COMPATIBILITY_VERSION"
	gatesVariable            = "FAKECLUSTER_FEATURE_GATES"
)

// ours is the connection of this process; nil until the first successful connect.
var ours struct {
	sync.Mutex
	*connection
}

// connect returns the connection of this process. After an error, and when the host has ended, the next call tries again.
func connect() (c *connection, isNew bool, err error) {
	ours.Lock()
	defer ours.Unlock()
	if ours.connection != nil {
		if pid, err := ours.process(); err == nil && pid == ours.pid {
			return ours.connection, false, nil
		}
	}
	ours.connection, err = openHost()
	return ours.connection, true, err
}

// openHost opens a session with the user's host, and starts the host if it does not run.
func openHost() (*connection, error) {
	p, err := findProgram()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "windows" {
		return p.join("--listen", "0")
	}
	if os.Getenv(versionVariable)+os.Getenv(emulatedVariable)+os.Getenv(minCompatibilityVariable)+os.Getenv(gatesVariable) != "" {
		return p.join() // the program finds or starts the host with these settings
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	parent := filepath.Join(cache, "fakecluster")
	folder := filepath.Join(parent, "host")
	socket := filepath.Join(folder, "host.sock")
	if err := errors.Join(checkOwner(parent), checkOwner(folder), checkOwner(socket)); err != nil {
		return nil, err
	}
	if c, err := newConnection(p, "unix:"+socket); err == nil && c.isOf(p) {
		if err := c.openSession(); err == nil {
			return c, nil
		}
	}
	return p.join() // the host does not run, is about to end, or is of another build
}

// join starts the host of a program, if it does not run, and opens a session.
func (p program) join(args ...string) (*connection, error) {
	where, err := p.startHost(args...)
	if err != nil {
		return nil, err
	}
	c, err := newConnection(p, where...)
	if err == nil {
		err = c.openSession()
	}
	if err != nil {
		return nil, fmt.Errorf("the host at %s: %w", where[0], err)
	}
	return c, nil
}

// newConnection returns a connection to a host: unix:SOCKET, or a URL and a token.
func newConnection(p program, where ...string) (*connection, error) {
	c := &connection{found: fmt.Sprintf("the host at %s, of %s (found by %s)", where[0], p.path, p.from)}
	switch {
	case strings.HasPrefix(where[0], "unix:"):
		c.network, c.address = "unix", strings.TrimPrefix(where[0], "unix:")
	case strings.HasPrefix(where[0], "http://") && len(where) == 2:
		c.network, c.address, c.token = "tcp", strings.TrimPrefix(where[0], "http://"), where[1]
	default:
		return nil, fmt.Errorf("%q is not an address of a host", where)
	}
	return c, nil
}

// hostName returns the host of request URLs.
func (c *connection) hostName() string {
	if c.network == "unix" {
		return "fakecluster"
	}
	return c.address
}

// isOf reports whether the host answers and runs this build of the program.
func (c *connection) isOf(p program) bool {
	var info struct{ Build string }
	return c.do(context.Background(), "GET", "/v1/info", nil, &info) == nil && info.Build == p.build()
}

// openSession opens the session, over a connection of its own.
func (c *connection) openSession() error {
	conn, err := net.Dial(c.network, c.address)
	if err != nil {
		return err
	}
	req, err := c.request(context.Background(), "POST", "/v1/sessions", nil)
	if err == nil {
		err = req.Write(conn)
	}
	if err != nil {
		conn.Close()
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), req)
	var line struct{ Session, Error string }
	if err == nil {
		// The answer ends with the session; only its first value is read.
		err = json.NewDecoder(answer.Body).Decode(&line)
	}
	if err == nil && line.Session == "" {
		err = errors.New(line.Error)
	}
	if err != nil {
		conn.Close()
		return err
	}
	c.open, c.session = conn, line.Session
	c.pid, err = c.process()
	return err
}

// process returns the number of the process of the host.
func (c *connection) process() (pid int, err error) {
	var info struct{ PID int }
	err = c.do(context.Background(), "GET", "/v1/info", nil, &info)
	return info.PID, err
}

// log returns where the log of a host in the background is.
func (c *connection) log() string {
	if c.network != "unix" {
		return "host.log in the folder of the host"
	}
	return filepath.Join(filepath.Dir(c.address), "host.log")
}

// gone returns the error of a host that has ended, or does not answer.
func (c *connection) gone(which string, err error) error {
	return fmt.Errorf("%s has ended, or does not answer: start the test again, and look at its log if that happens again, %s, which the next host keeps as host.former.log: %w", which, c.log(), err)
}

func (c *connection) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.hostName()+path, bytes.NewReader(body))
	if err == nil && c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, err
}

// do sends a request, and decodes the answer into a value, or copies it into a *[]byte. An answer with an
// error code becomes an error.
func (c *connection) do(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := c.request(ctx, method, path, text)
	if err != nil {
		return err
	}
	status, text, err := c.send(req)
	if err != nil {
		return c.gone("the host", err)
	}
	return readAnswer(status, text, into)
}

// do sends a request to the control API in the bubble.
func (b *bubble) do(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://fakecluster"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	answer, err := b.roundTrip("", req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if text, err = io.ReadAll(answer.Body); err != nil {
		return err
	}
	return readAnswer(answer.StatusCode, text, into)
}

// send sends a request over a connection of its own, on the goroutine of the caller, so that no goroutine is
// left in a bubble.
func (c *connection) send(req *http.Request) (status int, text []byte, err error) {
	ctx := req.Context()
	var d net.Dialer
	conn, err := d.DialContext(ctx, c.network, c.address)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { conn.Close() })()
	}
	req.Close = true
	if err = req.Write(conn); err == nil {
		var answer *http.Response
		if answer, err = http.ReadResponse(bufio.NewReader(conn), req); err == nil {
			status = answer.StatusCode
			text, err = io.ReadAll(answer.Body)
		}
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return status, text, err
}

// optionOfLibrary matches an option as package fakecluster names it, in an error of the host: WithPort is Port here.
var optionOfLibrary = regexp.MustCompile(`\bWith([A-Z]\w*)`)

// readAnswer decodes an answer into a value. An answer with an error code becomes an error.
func readAnswer(status int, text []byte, into any) error {
	if status >= 300 {
		var failure struct{ Error string }
		if json.Unmarshal(text, &failure) != nil || failure.Error == "" {
			failure.Error = fmt.Sprintf("%d %s: %s", status, http.StatusText(status), text)
		}
		return errors.New(optionOfLibrary.ReplaceAllString(failure.Error, "$1"))
	}
	switch into := into.(type) {
	case nil:
		return nil
	case *[]byte:
		*into = text
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the answer of the host cannot be decoded; use the same version of module remote and of the program: %w", err)
	}
	return nil
}
