package host

import (
	"crypto/rand"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/internal/release"
)

// Options configure a Host.
type Options struct {
	// Version is the version of this program. Build identifies its executable, so that a client can find a host of its
	// own build.
	Version, Build string
	// PID is the id of the process, for clients that want to end it.
	PID int
	// Token is the bearer token of requests; empty: none is needed, because only the user can connect.
	Token string
	// Other returns the address of a host that behaves as another version of Kubernetes, which it starts if necessary:
	// unix:SOCKET, or a URL and a token. nil: clusters of other versions are rejected.
	Other func(version string) (where []string, err error)
	// Bubble calls a function in a new testing/synctest bubble, and returns when the bubble has ended; nil: bubbles are
	// rejected.
	Bubble func(run func()) error
	// Idle is how long the host waits without a client before it closes Done; 0: only endHost and Close close it.
	Idle time.Duration
}

// Host holds clusters for clients. Its methods are safe for concurrent use.
type Host struct {
	options Options
	routes  *http.ServeMux
	done    chan struct{}
	finish  func()          // closes done
	calls   *http.Transport // to functions of clients outside of bubbles

	mu           sync.Mutex
	sessions     map[string]*session
	clusters     map[string]*cluster
	ending       map[string]*cluster // clusters that end, until they have
	drivers      map[*driver]bool    // of bubbles
	explorations map[string]*exploration
	explored     int          // explorations until now
	stray        net.Listener // the address of clusters in bubbles; nil: there were none
	started      int          // clusters until now
	requests     int          // that are being served
	idle         *time.Timer  // runs while there are none; nil: the host does not end by itself
	closed       bool
}

// session has the clusters of a client.
type session struct {
	id       string
	clusters []*cluster

	opening sync.Mutex               // held while a session of others is opened
	others  map[string]*otherSession // in hosts of other versions; nil: the session has ended
}

// New returns a host without clusters. Close ends it.
func New(o Options) *Host {
	h := &Host{options: o, routes: http.NewServeMux(), done: make(chan struct{}), sessions: map[string]*session{}, clusters: map[string]*cluster{}, ending: map[string]*cluster{}, drivers: map[*driver]bool{}, explorations: map[string]*exploration{}, calls: &http.Transport{IdleConnTimeout: time.Minute, DisableCompression: true}}
	h.finish = sync.OnceFunc(func() { close(h.done) })
	for _, o := range operations() {
		h.routes.HandleFunc(o.method+" "+o.path, func(w http.ResponseWriter, req *http.Request) { o.serve(h, w, req) })
	}
	if o.Idle > 0 {
		h.idle = time.AfterFunc(o.Idle, h.endIfUnused)
	}
	return h
}

// Done is closed when the host should end: it had no clients for Options.Idle, or a client has called endHost.
func (h *Host) Done() <-chan struct{} { return h.done }

// Close ends all sessions and clusters.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	if h.idle != nil {
		h.idle.Stop()
	}
	clusters := slices.Collect(maps.Values(h.clusters))
	maps.Copy(h.ending, h.clusters)
	clear(h.clusters)
	drivers := slices.Collect(maps.Keys(h.drivers))
	if h.stray != nil {
		_ = h.stray.Close() // always nil
	}
	h.mu.Unlock()
	h.finish()
	for _, d := range drivers {
		d.stop()
	}
	endAll(clusters)
	h.calls.CloseIdleConnections()
	return nil
}

// ServeHTTP serves the control API.
func (h *Host) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !h.admits(w, req) {
		return
	}
	h.begin()
	defer h.end()
	h.serveRoute(w, req)
}

// serveRoute serves a request to an operation.
func (h *Host) serveRoute(w http.ResponseWriter, req *http.Request) {
	if _, pattern := h.routes.Handler(req); pattern == "" {
		writeError(w, h.unknownRoute(req))
		return
	}
	h.routes.ServeHTTP(w, req)
}

// unknownRoute returns the error for a request that no operation serves.
func (h *Host) unknownRoute(req *http.Request) error {
	var methods []string
	for _, o := range operations() {
		probe := req.Clone(req.Context())
		probe.Method = o.method
		if _, pattern := h.routes.Handler(probe); pattern == o.method+" "+o.path {
			methods = append(methods, o.method)
		}
	}
	if len(methods) > 0 {
		slices.Sort(methods)
		return refuse(http.StatusMethodNotAllowed, "%.100q takes %v, not %.20s", req.URL.Path, slices.Compact(methods), req.Method)
	}
	return refuse(http.StatusNotFound, "the control API does not have %.100q: GET %s lists its operations", req.URL.Path, documentPath)
}

func (h *Host) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
	if h.idle != nil {
		h.idle.Stop()
	}
}

func (h *Host) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.requests--; h.requests == 0 && h.idle != nil && !h.closed {
		h.idle.Reset(h.options.Idle)
	}
}

// endIfUnused closes Done, unless a request has begun after the idle timer fired.
func (h *Host) endIfUnused() {
	h.mu.Lock()
	unused := h.requests == 0
	h.mu.Unlock()
	if unused {
		h.finish()
	}
}

// Info describes the host.
type Info struct {
	Version    string `json:"version" doc:"the version of fakecluster"`
	Kubernetes string `json:"kubernetes" doc:"the version of Kubernetes that the clusters serve"`
	BehavesAs  string `json:"behavesAs" doc:"the version of Kubernetes that the clusters behave as, such as 1.35 (--kubernetes-version)"`
	Build      string `json:"build" doc:"identifies the executable of the host by its size and modification time"`
	PID        int    `json:"pid" doc:"the id of the process"`
	Sessions   int    `json:"sessions" doc:"how many sessions are open"`
	Clusters   int    `json:"clusters" doc:"how many clusters run"`
	Bubbles    int    `json:"bubbles" doc:"how many bubbles of virtual time are open, or end"`
}

func getInfo(c call, _ none) (Info, error) {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	o := c.host.options
	return Info{Version: o.Version, Kubernetes: release.Libraries, BehavesAs: release.Version().String(), Build: o.Build, PID: o.PID, Sessions: len(c.host.sessions), Clusters: len(c.host.clusters), Bubbles: len(c.host.drivers)}, nil
}

func endHost(c call, _ none) (none, error) {
	c.host.mu.Lock()
	open := len(c.host.sessions)
	c.host.mu.Unlock()
	if open > 0 {
		return none{}, refuse(http.StatusConflict, "%d sessions use the host: it ends by itself when their clients have gone, unless it runs with --stay", open)
	}
	c.host.finish()
	return none{}, nil
}

// Session is the first line of the answer to openSession, which stays open.
type Session struct {
	Session string `json:"session" doc:"the name of the session, for startCluster and forkCluster"`
}

// openSession opens a session for as long as the request lasts.
func openSession() operation {
	o := operation{
		name: "openSession", method: http.MethodPost, path: "/v1/sessions", answer: typeOf[Session](),
		doc: "Opens a session. The answer is one line of JSON, and then stays open: keep the connection. When it ends, the clusters of the session end.",
	}
	o.serve = func(h *Host, w http.ResponseWriter, req *http.Request) {
		if err := read(req, &none{}, o); err != nil {
			writeError(w, err)
			return
		}
		s := &session{id: rand.Text(), others: map[string]*otherSession{}}
		h.mu.Lock()
		h.sessions[s.id] = s
		h.mu.Unlock()
		defer h.endSession(s)
		write(w, Session{s.id})
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-req.Context().Done():
		case <-h.done:
		}
	}
	return o
}

func (h *Host) endSession(s *session) {
	h.mu.Lock()
	delete(h.sessions, s.id)
	for _, c := range s.clusters {
		delete(h.clusters, c.id)
		h.ending[c.id] = c
	}
	h.mu.Unlock()
	endAll(s.clusters)
	s.endOthers()
}

// add adds a cluster to a session. It fails if the session has ended.
func (h *Host) add(session string, c *cluster) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[session]
	if s == nil || h.closed {
		return noSession(session)
	}
	c.session = session
	s.clusters = append(s.clusters, c)
	h.clusters[c.id] = c
	return nil
}

// hasSession returns an error if no session has the id.
func (h *Host) hasSession(id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[id] == nil {
		return noSession(id)
	}
	return nil
}

func noSession(id string) error {
	if id == "" {
		return refuse(http.StatusBadRequest, "session is missing: a cluster needs a session, which POST /v1/sessions opens")
	}
	return refuse(http.StatusNotFound, "there is no session %.100q: it has ended with its connection; POST /v1/sessions opens another one", id)
}

// cluster returns a cluster by its name.
func (h *Host) cluster(id string) (*cluster, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.clusters[id]
	if c == nil {
		return nil, refuse(http.StatusNotFound, "there is no cluster %.100q: it was deleted, or has ended with the connection of its session", id)
	}
	return c, nil
}

// living returns a cluster by its name, also one that is ending: its containers act until they have stopped.
func (h *Host) living(id string) (*cluster, error) {
	h.mu.Lock()
	c := h.ending[id]
	h.mu.Unlock()
	if c != nil {
		return c, nil
	}
	return h.cluster(id)
}

// ended forgets a cluster that has ended.
func (h *Host) ended(c *cluster) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.ending, c.id)
}

// remove removes a cluster from its session, and reports whether the session had it.
func (h *Host) remove(c *cluster) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clusters[c.id] == nil {
		return false
	}
	delete(h.clusters, c.id)
	h.ending[c.id] = c
	if s := h.sessions[c.session]; s != nil {
		s.clusters = slices.DeleteFunc(s.clusters, func(other *cluster) bool { return other == c })
	}
	return true
}
