package shell

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// transfer has the options of wget and curl.
type transfer struct {
	url, method, body, out string
	header                 http.Header
	quiet, fail, show      bool // show: print errors although quiet
	head, follow           bool
	insecure               bool
	authority              string // a file
	status                 string // of curl -w
	timeout                time.Duration
}

// errNoNetwork is the error of a container without a network.
var errNoNetwork = errors.New("the pod does not have a network")

func (s *Shell) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.Dial == nil {
		return nil, errNoNetwork
	}
	return s.Dial(ctx, network, address)
}

// do sends the request. The request counts as a pause of the script.
func (t *transfer) do(ctx context.Context, s *Shell, c *Command) (*http.Response, []byte, error) {
	limitsOf(ctx).paused()
	if t.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.timeout)
		defer cancel()
	}
	config := &tls.Config{InsecureSkipVerify: t.insecure}
	if t.authority != "" {
		data, err := s.read(ctx, c.absolute(t.authority))
		if err != nil {
			return nil, nil, err
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(data)
	}
	transport := &http.Transport{DialContext: s.dial, TLSClientConfig: config, DisableKeepAlives: true}
	client := &http.Client{Transport: transport}
	if !t.follow {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	to := t.url
	if !strings.Contains(to, "://") {
		to = "http://" + to
	}
	req, err := http.NewRequestWithContext(ctx, t.method, to, strings.NewReader(t.body))
	if err != nil {
		return nil, nil, err
	}
	req.Header = t.header
	req.Host = t.header.Get("Host")
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxHeld+1))
	if len(data) > maxHeld {
		err = limitsOf(ctx).hold(maxHeld + 1)
	}
	return resp, data, err
}

// keep writes the response to a file, or to the output.
func (t *transfer) keep(s *Shell, c *Command, data []byte) error {
	if t.out == "-" {
		_, err := c.Stdout.Write(data)
		return err
	}
	if t.out == "/dev/null" {
		return nil
	}
	return s.Files.WriteFile(c.absolute(t.out), data, 0o644)
}

// why returns the kind of an error of the network.
func why(err error) (unknown, refused, late bool) {
	lookup := (*net.DNSError)(nil)
	unknown = errors.As(err, &lookup) && lookup.IsNotFound
	refused = errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH)
	late = errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
	return unknown, refused, late
}

// hostOf returns the host of a URL, and its port.
func hostOf(text string) (host, port string) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return text, ""
	}
	if port = u.Port(); port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Hostname(), port
}

// wget downloads a file, like that of busybox.
func wget(ctx context.Context, s *Shell, c *Command) int {
	t := &transfer{method: http.MethodGet, header: http.Header{"User-Agent": {"Wget"}}, follow: true, timeout: 900 * time.Second}
	spider := false
	args := flagReader{args: c.Args[1:], valued: "OTtYPU"}
	for args.next() {
		switch args.name {
		case "q", "quiet", "no-verbose", "nv", "c", "S", "Y", "tries", "t", "P":
			t.quiet = t.quiet || args.name == "q" || args.name == "quiet"
		case "O", "output-document":
			t.out = args.value()
		case "T", "timeout":
			t.timeout = seconds(args.value())
		case "spider":
			spider = true
		case "header":
			t.addHeader(args.value())
		case "post-data":
			t.method, t.body = http.MethodPost, args.value()
			t.header.Set("Content-Type", "application/x-www-form-urlencoded")
		case "no-check-certificate":
			t.insecure = true
		case "U", "user-agent":
			t.header.Set("User-Agent", args.value())
		case "":
			t.url = args.value()
		default:
			return c.fail(1, "unrecognized option: %s", args.name)
		}
	}
	if t.url == "" {
		return c.fail(1, "missing URL")
	}
	if t.out == "" {
		if t.out = path.Base(strings.TrimSuffix(strings.SplitN(t.url, "://", 2)[len(strings.SplitN(t.url, "://", 2))-1], "/")); !strings.Contains(strings.TrimPrefix(t.url, "http://"), "/") || strings.HasSuffix(t.url, "/") {
			t.out = "index.html"
		}
	}
	resp, data, err := t.do(ctx, s, c)
	if errors.Is(err, errLimit) {
		return 2 // the run ends with an error
	}
	if err != nil {
		host, port := hostOf(t.url)
		switch unknown, refused, late := why(err); {
		case unknown:
			return c.fail(1, "bad address '%s'", host)
		case refused:
			return c.fail(1, "can't connect to remote host (%s): Connection refused", net.JoinHostPort(host, port))
		case late:
			return c.fail(1, "download timed out")
		}
		return c.fail(1, "%v", err)
	}
	if resp.StatusCode >= 300 {
		return c.fail(1, "server returned error: %s %s", resp.Proto, resp.Status)
	}
	if spider {
		return 0
	}
	if err := t.keep(s, c, data); err != nil {
		return c.fail(1, "%v", err)
	}
	return 0
}

// curl sends a request, with the exit codes of the real curl.
func curl(ctx context.Context, s *Shell, c *Command) int {
	t := &transfer{header: http.Header{"User-Agent": {"curl/8.14.1"}, "Accept": {"*/*"}}, out: "-"}
	include := false
	var again retries
	args := flagReader{args: c.Args[1:], valued: "oXHdmwuA"}
	for args.next() {
		switch args.name {
		case "s", "silent":
			t.quiet = true
		case "S", "show-error":
			t.show = true
		case "f", "fail", "fail-with-body":
			t.fail = true
		case "L", "location":
			t.follow = true
		case "k", "insecure":
			t.insecure = true
		case "v", "verbose", "i", "include":
			include = include || args.name == "i" || args.name == "include"
		case "I", "head":
			t.head, t.method = true, http.MethodHead
		case "o", "output":
			t.out = args.value()
		case "X", "request":
			t.method = args.value()
		case "H", "header":
			t.addHeader(args.value())
		case "d", "data", "data-raw", "data-binary":
			t.body = args.value()
			if t.header.Get("Content-Type") == "" {
				t.header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			if t.method == "" {
				t.method = http.MethodPost
			}
		case "m", "max-time", "connect-timeout":
			t.timeout = seconds(args.value())
		case "w", "write-out":
			t.status = args.value()
		case "cacert":
			t.authority = args.value()
		case "A", "user-agent":
			t.header.Set("User-Agent", args.value())
		case "u", "user":
			t.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(args.value())))
		case "retry":
			again.left, _ = strconv.Atoi(args.value())
		case "retry-delay":
			again.delay = seconds(args.value())
		case "retry-max-time":
			if most := seconds(args.value()); most > 0 {
				again.until = time.Now().Add(most)
			}
		case "retry-connrefused":
			again.refused = true
		case "retry-all-errors":
			again.errors = true
		case "N", "no-buffer", "no-progress-meter", "4", "ipv4", "http1.1", "http2", "compressed", "g", "globoff", "q":
		case "", "url":
			t.url = args.value()
		default:
			return c.fail(2, "option --%s: is unknown", args.name)
		}
	}
	if t.url == "" {
		return c.fail(2, "no URL specified")
	}
	if t.method == "" {
		t.method = http.MethodGet
	}
	said := func(code int, format string, args ...any) int {
		if !t.quiet || t.show {
			fmt.Fprintf(c.Stderr, "curl: (%d) %s\n", code, fmt.Sprintf(format, args...))
		}
		return code
	}
	var resp *http.Response
	var data []byte
	var err error
	code := 0
	for {
		if resp, data, err = t.do(ctx, s, c); errors.Is(err, errLimit) {
			return 2 // the run ends with an error
		}
		code = 0
		host, port := hostOf(t.url)
		switch unknown, refused, late := why(err); {
		case unknown:
			code = said(6, "Could not resolve host: %s", host)
		case refused:
			code = said(7, "Failed to connect to %s port %s: Could not connect to server", host, port)
		case late:
			code = said(28, "Connection timed out")
		case err != nil:
			code = said(35, "%v", err)
		case t.fail && resp.StatusCode >= 400:
			code = said(22, "The requested URL returned error: %d", resp.StatusCode)
		}
		problem := again.problem(resp, err)
		if problem == "" || ctx.Err() != nil {
			break
		}
		wait, ok := again.next()
		if !ok {
			break
		}
		if !t.quiet {
			fmt.Fprintf(c.Stderr, "Warning: Problem: %s. Will retry in %s. %s left.\n", problem, counted(wait.Seconds(), "second", "seconds"), counted(float64(again.left+1), "retry", "retries"))
		}
		select {
		case <-time.After(wait):
			limitsOf(ctx).paused()
		case <-ctx.Done():
			return Terminated
		}
	}
	if code != 0 {
		status := 0
		if err == nil {
			status = resp.StatusCode
		}
		t.writeStatus(c, status)
		return code
	}
	if include || t.head {
		fmt.Fprintf(c.Stdout, "%s %s\r\n", resp.Proto, resp.Status)
		_ = resp.Header.Write(c.Stdout)
		fmt.Fprint(c.Stdout, "\r\n")
	}
	if err := t.keep(s, c, data); err != nil {
		return said(23, "%v", err)
	}
	t.writeStatus(c, resp.StatusCode)
	return 0
}

// retries has the options of curl for retries.
type retries struct {
	left            int
	delay, backoff  time.Duration
	until           time.Time // no try begins later; zero: any does
	refused, errors bool
}

// problem returns the reason for a retry of a transfer; "": it is not retried.
func (r *retries) problem(resp *http.Response, err error) string {
	if errors.Is(err, errLimit) {
		return ""
	}
	unknown, refused, late := why(err)
	switch {
	case err == nil && slices.Contains([]int{408, 429, 500, 502, 503, 504}, resp.StatusCode):
		return "HTTP error"
	case err == nil && r.errors && resp.StatusCode >= 400:
		return "(retrying all errors)"
	case err == nil:
		return ""
	case unknown, late:
		return "timeout"
	case refused && r.refused:
		return "connection refused"
	case r.errors:
		return "(retrying all errors)"
	}
	return ""
}

// next returns the delay before the next try, and whether there is one.
func (r *retries) next() (wait time.Duration, ok bool) {
	r.backoff = min(max(2*r.backoff, time.Second), 10*time.Minute)
	wait = r.backoff
	if r.delay > 0 {
		wait = r.delay
	}
	if r.left < 1 || !r.until.IsZero() && time.Now().Add(wait).After(r.until) {
		return 0, false
	}
	r.left--
	return wait, true
}

// counted returns a number with its noun.
func counted(n float64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%g %s", n, many)
}

func (t *transfer) writeStatus(c *Command, code int) {
	text := strings.NewReplacer("%{http_code}", fmt.Sprintf("%03d", code), "%{response_code}", fmt.Sprintf("%03d", code), `\n`, "\n").Replace(t.status)
	_, _ = io.WriteString(c.Stdout, text)
}

func (t *transfer) addHeader(line string) {
	if name, value, ok := strings.Cut(line, ":"); ok {
		t.header.Set(name, strings.TrimSpace(value))
	}
}

// seconds returns a number of seconds as a duration; 0 for another text.
func seconds(text string) time.Duration {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n > 1e9 {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}
