package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
)

// Cluster is a running cluster. Its methods are safe for concurrent use.
type Cluster struct {
	host        *connection
	bubble      *bubble // nil: the cluster is outside of bubbles
	version     string  // of KubernetesVersion
	description clusterDescription
	test        testing.TB // nil: the cluster is of New or NewFork
	misused     sync.Once

	mu        sync.Mutex
	callables []uint64        // the handlers of this process that the cluster may call
	wrong     []error         // errors of misuse that Close returns, if there is no test
	outer     *http.Transport // the transport outside of bubbles; nil: not used yet
	unwatch   func()          // ends watchClients; nil: the cluster is in a bubble
	closed    bool
}

// clusterDescription is the answer of the host to the start of a cluster: its addresses and credentials.
type clusterDescription struct {
	Cluster, URL, Token, Kubeconfig, CertificateAuthority, CABundle string
	WebhookServer                                                   WebhookServer
	Services                                                        []serviceAddress
}

// WebhookServer has the address and the certificate with which the webhook server of a test must listen, so
// that the cluster reaches it for the webhooks of [WebhookPaths]. The fields have the names of
// controller-runtime's webhook.Options.
type WebhookServer struct {
	Host string
	Port int
	// CertDir is a folder with tls.crt and tls.key. It is removed with the cluster.
	CertDir string
}

// Start runs a cluster until the test and its subtests are complete. If the test fails, its log shows what has happened in the
// cluster, and with the environment variable FAKECLUSTER_REPORT=DIR a page for a browser is written. Start fails the test with t.Fatal
// if the cluster cannot start.
//
// In a testing/synctest bubble, the clock of the cluster is that of the bubble: leases, deletions,
// tokens, timeouts and workloads follow it. That needs Go 1.25. Clients need [Cluster.Transport].
// Changes that the cluster makes by itself reach the test with the response to its next request, or
// a moment later. This delay is at most the time since the last activity, and at most a second or a
// thousandth of that time, whichever is longer.
func Start(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	checkTest(t)
	h, isNew, err := connect()
	if err != nil {
		t.Fatalf("fakecluster: %v", err)
	}
	if isNew {
		t.Logf("fakecluster: %s", h.found)
	}
	c, err := start(h, opts)
	if err != nil {
		t.Fatalf("fakecluster: %v", err)
	}
	c.closeWith(t)
	return c
}

// New runs a cluster until Close, or until the process ends. It is for programs and TestMain; tests use Start.
func New(opts ...Option) (*Cluster, error) {
	h, _, err := connect()
	if err != nil {
		return nil, err
	}
	return start(h, opts)
}

func start(h *connection, opts []Option) (*Cluster, error) {
	s := settings{"session": h.session}
	if err := s.take(opts); err != nil {
		return nil, err
	}
	c := &Cluster{host: h}
	c.version, _ = s["kubernetesVersion"].(string)
	handlers, _ := s[callablesField].([]*callable)
	delete(s, callablesField)
	if err := c.register(handlers); err != nil {
		return nil, err
	}
	if err := c.startWith(s); err != nil {
		c.unregister()
		return nil, err
	}
	c.opened()
	return c, nil
}

// opened makes a started cluster known.
func (c *Cluster) opened() {
	c.indexed().add(c)
	if c.bubble == nil {
		c.unwatch = c.watchClients()
	}
}

// startWith starts the cluster with a request, in the bubble of the caller if there is one.
func (c *Cluster) startWith(s settings) error {
	h := c.host
	if !bubbles.Inside() {
		return h.do(context.Background(), "POST", "/v1/clusters", s, &c.description)
	}
	for _, option := range []string{"TLS", "Port"} {
		if s[strings.ToLower(option)] != nil {
			return fmt.Errorf("%s: clients in a synctest bubble use the transport of the cluster and no socket; leave the option out", option)
		}
	}
	b, err := openBubble(h, map[string]any{"kubernetesVersion": c.version}, nil)
	if err != nil {
		return err
	}
	b.add(c)
	delete(s, "kubernetesVersion") // the bubble has it
	s["session"] = b.session
	if _, lives := s["workloads"]; lives {
		b.watched.living.Store(true)
	}
	if err := b.do(context.Background(), "POST", "/v1/clusters", s, &c.description); err != nil {
		b.remove(c)
		return err
	}
	return nil
}

// Fork runs an independent copy of the cluster as it is now, until the test and its subtests are complete. An
// error fails the test with t.Fatal. Workloads do not run in the copy; [Cluster.RunWorkloads] starts them. A
// testing/synctest bubble may fork a cluster that was started outside: the copy has the time of the bubble.
func (c *Cluster) Fork(t testing.TB) *Cluster {
	t.Helper()
	checkTest(t)
	f, err := c.NewFork()
	if err != nil {
		t.Fatalf("fakecluster: %v", err)
	}
	f.closeWith(t)
	return f
}

// NewFork is Fork for programs and TestMain: the copy runs until its Close, or until the process ends.
func (c *Cluster) NewFork() (*Cluster, error) {
	f := &Cluster{host: c.host, version: c.version}
	c.share(f)
	if err := c.fork(f); err != nil {
		f.unregister()
		return nil, fmt.Errorf("forking: %w", err)
	}
	f.opened()
	return f, nil
}

func (c *Cluster) fork(f *Cluster) error {
	inside := bubbles.Inside()
	switch {
	case !inside && c.bubble == nil:
		return c.do("POST", "/fork", map[string]string{"session": c.host.session}, &f.description)
	case !inside:
		return errUsedOutside
	}
	b, name := c.bubble, c.description.Cluster
	if b == nil {
		var err error
		if b, err = openBubble(c.host, map[string]any{"cluster": c.description.Cluster}, nil); err != nil {
			return err
		}
		name = b.cluster
	}
	b.add(f)
	err := b.do(context.Background(), "POST", "/v1/clusters/"+name+"/fork", map[string]string{"session": b.session}, &f.description)
	if err != nil {
		b.remove(f)
	}
	return err
}

// Close ends the cluster. Further calls do nothing and return nil. For a cluster without a test, the error also names faults
// that have never fired.
func (c *Cluster) Close() error {
	misplaced := c.checkPlace()
	c.mu.Lock()
	closed, wrong := c.closed, c.wrong
	c.closed = closed || misplaced == nil
	c.mu.Unlock()
	if closed {
		return nil
	}
	if misplaced != nil {
		return fmt.Errorf("closing: %w", misplaced)
	}
	for _, text := range c.end() {
		wrong = append(wrong, errors.New(text))
	}
	return errors.Join(wrong...)
}

// end ends the cluster, and returns its errors, such as faults that have never fired.
func (c *Cluster) end() []string {
	var ended struct{ Errors []string }
	defer c.unregister()
	defer c.indexed().remove(c)
	if c.unwatch != nil {
		defer c.unwatch()
	}
	if c.bubble != nil {
		if err := c.checkPlace(); err != nil {
			return []string{"closing: " + err.Error()}
		}
		defer c.bubble.remove(c)
		c.bubble.ends(1)
		defer c.bubble.ends(-1)
	} else {
		defer c.closeIdle()
	}
	if err := c.do("DELETE", "", nil, &ended); err != nil {
		return []string{"closing: " + err.Error()}
	}
	return ended.Errors
}

// closeWith ties the cluster to a test.
func (c *Cluster) closeWith(t testing.TB) {
	c.test = t
	t.Cleanup(func() {
		t.Helper()
		c.mu.Lock()
		closed := c.closed
		c.closed = true
		c.mu.Unlock()
		if closed {
			return
		}
		var found struct{ Text string }
		var page []byte
		if err := c.do("GET", "/findings", nil, &found); err != nil && t.Failed() {
			t.Logf("fakecluster: the findings cannot be read: %v", err)
		}
		folder := os.Getenv(reportFolder)
		if folder != "" {
			_ = c.do("GET", "/report?title="+url.QueryEscape(t.Name()), nil, &page) // an empty page is not written
		}
		for _, text := range c.end() {
			t.Errorf("fakecluster: %s", text)
		}
		if !t.Failed() || found.Text == "" {
			return
		}
		t.Logf("fakecluster: %s", found.Text)
		if len(page) == 0 {
			return
		}
		if path, err := writePage(folder, t.Name(), page); err != nil {
			t.Logf("fakecluster: the report cannot be written: %v", err)
		} else {
			t.Logf("fakecluster: the report is in %s", path)
		}
	})
}

// reportFolder is the environment variable that names the folder for reports.
const reportFolder = "FAKECLUSTER_REPORT"

// do sends a request about the cluster.
func (c *Cluster) do(method, path string, body, into any) error {
	return c.doWith(context.Background(), method, path, body, into)
}

// doWith sends a request about the cluster that ends with a context.
func (c *Cluster) doWith(ctx context.Context, method, path string, body, into any) error {
	if err := c.checkPlace(); err != nil {
		return err
	}
	path = "/v1/clusters/" + c.description.Cluster + path
	if c.bubble != nil {
		return c.bubble.do(ctx, method, path, body, into)
	}
	return c.host.do(ctx, method, path, body, into)
}

// get decodes the answer to a GET about the cluster. An error fails the test.
func (c *Cluster) get(path string, into any) {
	if c.test != nil {
		c.test.Helper()
	}
	if err := c.do("GET", path, nil, into); err != nil {
		c.blame(err)
	}
}

// blame fails the test of the cluster at once, or keeps an error for Close.
func (c *Cluster) blame(err error) {
	if c.test != nil {
		c.test.Helper()
		c.test.Fatalf("fakecluster: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, err)
}

// URL returns the address of the cluster, such as http://127.0.0.1:34567. A request without credentials is answered with 401. In a bubble it works
// with [Cluster.Transport] only.
func (c *Cluster) URL() string { return c.description.URL }

// Token returns the bearer token of the administrator, who may do everything.
func (c *Cluster) Token() string { return c.description.Token }

// Kubeconfig returns a kubeconfig file of the administrator, over HTTPS. A cluster in a bubble has none.
func (c *Cluster) Kubeconfig() ([]byte, error) {
	if c.bubble != nil {
		return nil, errors.New("kubeconfig: a cluster in a synctest bubble has no socket for other processes: call Kubeconfig for a cluster that was started outside of bubbles")
	}
	return []byte(c.description.Kubeconfig), nil
}

// CABundle returns the PEM of the authority that signed the certificate of WebhookServer. Set it as
// the caBundle of webhook configurations. It is nil without [WebhookPaths].
func (c *Cluster) CABundle() []byte {
	if c.description.CABundle == "" {
		return nil
	}
	return []byte(c.description.CABundle)
}

// WebhookServer returns the address and the certificate for the webhook server of [WebhookPaths]. A fork has
// another port and certificate. Without that option it returns the zero value.
func (c *Cluster) WebhookServer() WebhookServer { return c.description.WebhookServer }

// Compact forgets the history up to now, as etcd does every five minutes on a real cluster: watches and lists
// at older revisions get 410. Watches that are running continue.
func (c *Cluster) Compact() error { return c.do("POST", "/compact", nil, nil) }

// Snapshot writes the present state of the cluster, with its history and all Secrets, for the option [Snapshot].
func (c *Cluster) Snapshot(w io.Writer) error {
	if w == nil {
		return errors.New("Snapshot: the writer is nil")
	}
	var content []byte
	if err := c.do("GET", "/snapshot", nil, &content); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	_, err := w.Write(content)
	return err
}

// WriteReport writes a page of what has happened in the cluster as one HTML file into a folder, and returns its absolute path. The
// folder is created if it does not exist.
func (c *Cluster) WriteReport(folder, title string) (path string, err error) {
	var page []byte
	if err := c.do("GET", "/report?title="+url.QueryEscape(title), nil, &page); err != nil {
		return "", err
	}
	return writePage(folder, title, page)
}

// ReportFailure sets the message of the failed assertion, which the page of [Cluster.WriteReport] and
// FAKECLUSTER_REPORT shows at its top. Only the first call has an effect.
func (c *Cluster) ReportFailure(message string) {
	if err := c.do("POST", "/failure", map[string]string{"message": message}, nil); err != nil {
		c.blame(err)
	}
}

// writePage writes a page into a folder, under a name that no file has.
func writePage(folder, title string, page []byte) (path string, err error) {
	if folder, err = filepath.Abs(folder); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".test") + "." + strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) {
			return '_'
		}
		return r
	}, title)
	for n := 1; ; n++ {
		path = filepath.Join(folder, name+".html")
		if n > 1 {
			path = filepath.Join(folder, fmt.Sprintf("%s.%d.html", name, n))
		}
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(page)
		return path, errors.Join(err, file.Close())
	}
}
