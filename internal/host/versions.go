package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/fakecluster/fakecluster/internal/release"
)

// Kubernetes' feature gates belong to a process. So a cluster of another version lives in another host, which behaves as
// that version, and this host forwards the requests about it. The session there is open as long as the session here.

// otherSession is the session in a host of another version that belongs to a session of this host.
type otherSession struct {
	version string
	client  *http.Client
	network string // of the address
	address string
	base    string // of URLs
	token   string
	id      string
	open    io.Closer // the answer that stays open
}

// servedHere are the operations that this host serves itself for clusters in other hosts. It forwards all others.
var servedHere = map[string]bool{"getCluster": true, "endCluster": true, "forkCluster": true}

// otherCluster is a cluster in a host of another version.
type otherCluster struct {
	session *otherSession
	cluster Cluster // as that host describes it
}

// isOther reports whether a cluster of a version must live in another host. The empty version is that of this host.
func isOther(version string) (bool, error) {
	if version == "" {
		return false, nil
	}
	v, err := release.Parse(version)
	if err != nil {
		return false, refuse(http.StatusBadRequest, "kubernetesVersion: %w", err)
	}
	return !v.EqualTo(release.Version()), nil
}

// startElsewhere starts a cluster in a host of another version.
func (h *Host) startElsewhere(ctx context.Context, s Start) (Cluster, error) {
	there, err := h.otherSession(s.Session, s.KubernetesVersion)
	if err != nil {
		return Cluster{}, err
	}
	session := s.Session
	s.Session, s.KubernetesVersion = there.id, ""
	return h.takeOther(ctx, there, session, "/v1/clusters", s)
}

// forkElsewhere forks a cluster of another version.
func (h *Host) forkElsewhere(ctx context.Context, c *otherCluster, f Fork) (Cluster, error) {
	there, err := h.otherSession(f.Session, c.session.version)
	if err != nil {
		return Cluster{}, err
	}
	return h.takeOther(ctx, there, f.Session, "/v1/clusters/"+c.cluster.Cluster+"/fork", Fork{there.id})
}

// takeOther starts a cluster by a request to the other host, and adds it to a session.
func (h *Host) takeOther(ctx context.Context, there *otherSession, session, path string, request any) (Cluster, error) {
	c := newCluster(h, nil)
	c.other = &otherCluster{session: there}
	if err := there.do(ctx, http.MethodPost, path, request, &c.other.cluster); err != nil {
		return Cluster{}, err
	}
	return h.take(session, c)
}

// otherSession returns the session in the host of another version that belongs to a session of this host.
func (h *Host) otherSession(id, version string) (*otherSession, error) {
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s == nil {
		return nil, noSession(id)
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if there := s.others[version]; there != nil {
		return there, nil
	}
	if s.others == nil {
		return nil, noSession(id) // the session has ended
	}
	there, err := h.openOther(version)
	if err != nil {
		return nil, fmt.Errorf("the host of Kubernetes %s: %w", version, err)
	}
	s.others[version] = there
	return there, nil
}

// endOthers ends the sessions in hosts of other versions.
func (s *session) endOthers() {
	s.opening.Lock()
	defer s.opening.Unlock()
	for _, there := range s.others {
		_ = there.open.Close() // always nil
		there.client.CloseIdleConnections()
	}
	s.others = nil
}

// openOther opens a session in the host of another version, and starts that host if necessary.
func (h *Host) openOther(version string) (*otherSession, error) {
	if h.options.Other == nil {
		return nil, errors.New("this host does not start hosts of other versions")
	}
	where, err := h.options.Other(version)
	if err != nil {
		return nil, err
	}
	there := &otherSession{version: version, base: "http://fakecluster"}
	there.network = "unix"
	switch {
	case len(where) == 1 && strings.HasPrefix(where[0], "unix:"):
		there.address = strings.TrimPrefix(where[0], "unix:")
	case len(where) == 2:
		there.network, there.base, there.token = "tcp", where[0], where[1]
		there.address = strings.TrimPrefix(there.base, "http://")
	default:
		return nil, fmt.Errorf("%q is not an address of a host", where)
	}
	var d net.Dialer
	there.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, there.network, there.address)
	}}}
	answer, err := there.send(context.Background(), http.MethodPost, "/v1/sessions", nil)
	if err != nil {
		return nil, err
	}
	var line Session
	// The answer stays open; only its first value is read.
	if err := json.NewDecoder(answer.Body).Decode(&line); err != nil || line.Session == "" {
		_ = answer.Body.Close()
		return nil, fmt.Errorf("it has not opened a session (%s): %w", answer.Status, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	there.id, there.open = line.Session, answer.Body
	return there, nil
}

func (o *otherSession) send(ctx context.Context, method, target string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, o.base+target, body)
	if err != nil {
		return nil, err
	}
	if o.token != "" {
		req.Header.Set("Authorization", "Bearer "+o.token)
	}
	answer, err := o.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the host of Kubernetes %s does not answer: start other clusters in another session: %w", o.version, err)
	}
	return answer, nil
}

// do sends a request and reads the answer into a value. It returns the error of an answer that is one.
func (o *otherSession) do(ctx context.Context, method, target string, request, into any) error {
	var body io.Reader
	if request != nil {
		text, err := json.Marshal(request)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	answer, err := o.send(ctx, method, target, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		var f Failure
		if err := json.NewDecoder(answer.Body).Decode(&f); err != nil {
			return err
		}
		return refuse(answer.StatusCode, "%s", f.Error)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// end ends the cluster in the other host.
func (c *otherCluster) end() (errs []error) {
	var ended Ended
	if err := c.session.do(context.Background(), http.MethodDelete, "/v1/clusters/"+c.cluster.Cluster, nil, &ended); err != nil {
		return []error{err}
	}
	for _, text := range ended.Errors {
		errs = append(errs, errors.New(text))
	}
	return errs
}

// forward sends a request about the cluster to the other host, and its answer to the client. here is the name of the cluster in this host.
func (c *otherCluster) forward(here string, w http.ResponseWriter, req *http.Request) {
	target := "/v1/clusters/" + c.cluster.Cluster + strings.TrimPrefix(req.URL.EscapedPath(), "/v1/clusters/"+here)
	if req.URL.RawQuery != "" {
		target += "?" + req.URL.RawQuery
	}
	answer, err := c.session.send(req.Context(), req.Method, target, req.Body)
	if err != nil {
		writeError(w, err)
		return
	}
	defer answer.Body.Close()
	w.Header()["Content-Type"] = answer.Header["Content-Type"]
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body) // the client may have gone
}

// pipeBubble opens the bubble in the host of another version, and copies frames between it and the client.
func (o *otherSession) pipeBubble(w http.ResponseWriter, b Bubble) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	there, err := net.Dial(o.network, o.address)
	if err != nil {
		return err
	}
	defer there.Close()
	req, err := http.NewRequest(http.MethodPost, o.base+"/v1/bubbles", bytes.NewReader(text))
	if err != nil {
		return err
	}
	if o.token != "" {
		req.Header.Set("Authorization", "Bearer "+o.token)
	}
	if err := req.Write(there); err != nil {
		return err
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer conn.Close()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(there, buffered) // ends with one of the connections
		_ = there.Close()
	}()
	_, _ = io.Copy(conn, there)
	_ = conn.Close()
	<-copied
	return nil
}
