package fakecluster_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// dial opens a connection to a cluster, that ends with the test.
func dial(t *testing.T, c *fakecluster.Cluster) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.URL(), "http://"))
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn, bufio.NewReader(conn)
}

// askOver sends a request for a path over a connection, and returns the code and the text of the
// answer.
func askOver(t *testing.T, c *fakecluster.Cluster, conn net.Conn, r *bufio.Reader, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	for _, usual := range []string{"Host: 127.0.0.1", "Authorization: Bearer " + c.RESTConfig().BearerToken} {
		name, _, _ := strings.Cut(usual, " ")
		if !slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(h, name) }) {
			headers = append(headers, usual)
		}
	}
	_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\n%s\r\n\r\n", path, strings.Join(headers, "\r\n"))
	must(t, err)
	res, err := http.ReadResponse(r, nil)
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(t, err)
	return res, string(text)
}

// A machine that has no time for the process may let a limit pass before a request is sent. So the cases either
// have no limit at that point, or take that the connection has ended already.
func TestHalfOpenConnectionsEnd(t *testing.T) {
	const short = 50 * time.Millisecond
	late := func(err error) bool { // what is sent over a connection that has ended fails, or resets it
		return utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err) || errors.Is(err, syscall.EPIPE)
	}
	ends := func(t *testing.T, r io.Reader) {
		t.Helper()
		if rest, err := io.ReadAll(r); err != nil && !late(err) {
			t.Errorf("after %q the connection ended with %v", rest, err)
		}
	}
	t.Run("without a request", func(t *testing.T) {
		_, r := dial(t, fakecluster.Start(t, fakecluster.Limited(short, 0, 0, 0)))
		ends(t, r)
	})
	t.Run("in the middle of a header", func(t *testing.T) {
		conn, r := dial(t, fakecluster.Start(t, fakecluster.Limited(short, 0, 0, 0)))
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: 127")
		ends(t, r)
	})
	t.Run("after a request", func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.Limited(0, short, 0, 0))
		conn, r := dial(t, c)
		res, _ := askOver(t, c, conn, r, "/version")
		if res.StatusCode != 200 {
			t.Errorf("code %d", res.StatusCode)
		}
		ends(t, r)
	})
	t.Run("and watches do not", func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.Limited(short, short, 0, 0))
		everywhere := c.Dynamic().Resource(namespaces)
		var w watch.Interface
		for seen := 0; seen < 4; { // until a watch has begun within the limit
			var err error
			if w, err = everywhere.Watch(t.Context(), metav1.ListOptions{}); late(err) {
				continue
			}
			must(t, err)
			defer w.Stop()
			for seen = 0; seen < 4; seen++ {
				if _, open := <-w.ResultChan(); !open {
					break
				}
			}
		}
		// By the end of this connection the watch would have ended, too.
		_, r := dial(t, c)
		ends(t, r)
		for { // until a request has come within the limit
			_, err := everywhere.Create(t.Context(), newNamespace("late"), metav1.CreateOptions{})
			if late(err) {
				continue
			}
			must(t, err)
			break
		}
		if e := next(t, w, 1)[0]; e.Type != watch.Added {
			t.Errorf("the watch says %v", e)
		}
	})
}

// TestLimits has one connection and one watch too many.
func TestLimits(t *testing.T) {
	tooMany := func(t *testing.T, res *http.Response, text string) {
		t.Helper()
		if res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" || text != "Too many requests, please try again later.\n" {
			t.Errorf("answer %d %v %q", res.StatusCode, res.Header, text)
		}
	}
	t.Run("connections", func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.Limited(0, 0, 2, 0))
		var conns []net.Conn
		for range 2 {
			conn, r := dial(t, c)
			if res, _ := askOver(t, c, conn, r, "/version"); res.StatusCode != 200 {
				t.Errorf("code %d", res.StatusCode)
			}
			conns = append(conns, conn)
		}
		conn, r := dial(t, c)
		res, text := askOver(t, c, conn, r, "/version")
		tooMany(t, res, text)
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("the connection goes on: %v", err)
		}
		conns[0].Close()
		for { // until the server has seen it
			conn, r := dial(t, c)
			if res, _ := askOver(t, c, conn, r, "/version"); res.StatusCode == 200 {
				break
			}
		}
	})
	t.Run("watches", func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.Limited(0, 0, 0, 2))
		var watches []watch.Interface
		for range 2 {
			w, err := c.Dynamic().Resource(namespaces).Watch(t.Context(), metav1.ListOptions{})
			must(t, err)
			next(t, w, 4)
			watches = append(watches, w)
		}
		conn, r := dial(t, c)
		res, text := askOver(t, c, conn, r, "/api/v1/namespaces?watch=1")
		tooMany(t, res, text)
		if res, _ := askOver(t, c, conn, r, "/api/v1/namespaces"); res.StatusCode != 200 {
			t.Errorf("a list: code %d", res.StatusCode)
		}
		// client-go repeats the request after Retry-After.
		watches[0].Stop()
		w, err := c.Dynamic().Resource(namespaces).Watch(t.Context(), metav1.ListOptions{})
		must(t, err)
		next(t, w, 4)
		w.Stop()
		watches[1].Stop()
	})
}

// TestAPageInABrowserCannotUseACluster sends what a page could send. A page cannot send
// Authorization to another site: the browser would send a preflight request first, which is refused.
func TestAPageInABrowserCannotUseACluster(t *testing.T) {
	c := fakecluster.Start(t)
	own := strings.TrimPrefix(c.URL(), "http://")
	const anonymous = "Authorization: "
	for _, tt := range []struct {
		rule    string
		headers []string
		why     string // empty: it is served
	}{
		{"a program", nil, ""},
		{"by the address", []string{"Host: " + own}, ""},
		{"by another address of this machine", []string{"Host: [::1]:80"}, ""},
		{"by name", []string{"Host: localhost:8001"}, ""},
		{"by a name of the certificate", []string{"Host: kubernetes.default.svc"}, ""},
		{"a name that was pointed here", []string{"Host: evil.example:8001"}, `"evil.example:8001" is not a name of this machine`},
		{"a name that looks like one of ours", []string{"Host: localhost.evil.example"}, `"localhost.evil.example" is not a name of this machine`},
		{"an address of another machine", []string{"Host: 10.0.0.1"}, `"10.0.0.1" is not a name of this machine`},
		{"a script of another site", []string{anonymous, "Origin: https://evil.example"}, "a page of another site sends the request"},
		{"a script of another port", []string{anonymous, "Host: " + own, "Origin: http://localhost:3000"}, "a page of another site sends the request"},
		{"a script in a sandbox", []string{anonymous, "Origin: null"}, "a page of another site sends the request"},
		{"two origins", []string{anonymous, "Host: " + own, "Origin: http://" + own, "Origin: https://evil.example"}, "a page of another site sends the request"},
		{"an upgrade", []string{anonymous, "Origin: https://evil.example", "Connection: Upgrade", "Upgrade: websocket"}, "a page of another site sends the request"},
		{"a program that sends an Origin, and the token", []string{"Origin: http://localhost"}, ""},
		{"a picture in a page", []string{"Sec-Fetch-Site: cross-site"}, "a page of another site sends the request"},
		{"the address bar", []string{"Sec-Fetch-Site: none"}, ""},
		{"a page of its own", []string{"Host: " + own, "Sec-Fetch-Site: same-origin", "Origin: http://" + own}, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			conn, r := dial(t, c)
			res, text := askOver(t, c, conn, r, "/version", tt.headers...)
			want := ""
			if tt.why != "" {
				want = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"fakecluster serves programs on this machine only: ` +
					strings.ReplaceAll(tt.why, `"`, `\"`) + `","reason":"Forbidden","code":403}` + "\n"
			}
			switch {
			case tt.why == "" && res.StatusCode != 200, tt.why != "" && (res.StatusCode != 403 || text != want):
				t.Errorf("answer %d %s", res.StatusCode, text)
			}
		})
	}
}
