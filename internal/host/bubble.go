package host

import (
	"bufio"
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/place"
)

// A cluster with the virtual time of a client's testing/synctest bubble lives in a bubble of the host. The goroutine
// that reads the client's frames is in that bubble, so time stands still between two frames: a socket does not block
// durably. Each frame has the client's time; the goroutine sleeps until that time, so everything happens that is due by
// then.

// Bubble is the request to open a bubble.
type Bubble struct {
	Session           string `json:"session" doc:"the session in which the clusters live; POST /v1/sessions opens one"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty" doc:"the version of Kubernetes that the clusters behave as, such as 1.35; default: that of the host"`
	Cluster           string `json:"cluster,omitempty" doc:"a cluster that will be forked in the bubble, and has real time"`
	Exploration       string `json:"exploration,omitempty" doc:"an exploration, one of whose trials is played in the bubble"`
	Trial             int    `json:"trial,omitempty" doc:"the trial"`
}

// OpenedBubble is the answer before the first frame.
type OpenedBubble struct {
	Session     string `json:"session" doc:"the session for startCluster and forkCluster in the bubble"`
	Cluster     string `json:"cluster,omitempty" doc:"the name of the cluster to fork in the bubble"`
	Exploration string `json:"exploration,omitempty" doc:"the name of the exploration in the bubble"`
}

// openBubble opens a bubble for as long as the connection lasts.
func openBubble() operation {
	o := operation{
		name: "openBubble", method: http.MethodPost, path: "/v1/bubbles", request: typeOf[Bubble](), answer: typeOf[OpenedBubble](),
		doc: "Opens a bubble of virtual time. After the answer the connection carries frames, which module remote sends.",
	}
	o.serve = func(h *Host, w http.ResponseWriter, req *http.Request) {
		if err := h.serveBubble(w, req, o); err != nil {
			writeError(w, err)
		}
	}
	return o
}

// serveBubble serves a bubble until its connection ends. An error is the answer.
func (h *Host) serveBubble(w http.ResponseWriter, req *http.Request, o operation) error {
	var b Bubble
	if err := read(req, &b, o); err != nil {
		return err
	}
	if err := h.hasSession(b.Session); err != nil {
		return err
	}
	if b.Exploration != "" && (b.Cluster != "" || b.KubernetesVersion != "") {
		return refuse(http.StatusBadRequest, "exploration: the bubble of a trial has no cluster and no kubernetesVersion: the exploration has them")
	}
	if x := h.elsewhere(b.Exploration); x != nil {
		if err := x.checkSession(b.Session); err != nil {
			return err
		}
		return x.other.session.pipeBubble(w, Bubble{Session: x.other.session.id, Exploration: x.other.name, Trial: b.Trial})
	}
	answer := OpenedBubble{b.Session, b.Cluster, b.Exploration}
	other, err := isOther(b.KubernetesVersion)
	if err != nil {
		return err
	}
	var there *otherSession
	if b.Cluster != "" {
		c, err := h.cluster(b.Cluster)
		switch {
		case err != nil:
			return err
		case c.driver != nil:
			return errOtherBubble
		case c.other != nil:
			if there, err = h.otherSession(b.Session, c.other.session.version); err != nil {
				return err
			}
			b.Cluster = c.other.cluster.Cluster
		}
	} else if other {
		if there, err = h.otherSession(b.Session, b.KubernetesVersion); err != nil {
			return err
		}
	}
	if there != nil {
		return there.pipeBubble(w, Bubble{Session: there.id, Cluster: b.Cluster})
	}
	if h.options.Bubble == nil {
		return refuse(http.StatusNotImplemented, "this host cannot create bubbles: use the host that the program fakecluster starts")
	}
	address, err := h.strayAddress()
	if err != nil {
		return err
	}
	d := &driver{host: h, url: address, exchanges: map[uint64]*exchange{}, calls: map[uint64]*functionCall{}, left: make(chan struct{})}
	if b.Exploration != "" {
		if d.trial, err = h.trial(b.Session, b.Exploration, b.Trial); err != nil {
			return err
		}
		if !d.trial.opened.CompareAndSwap(false, true) {
			return refuse(http.StatusConflict, "the bubble of trial %d is open", b.Trial)
		}
	}
	defer close(d.left)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer conn.Close()
	if !answerRaw(conn, answer) {
		return nil
	}
	d.conn, d.reader, d.out = conn, buffered.Reader, make([]byte, frameHead, 4<<10)
	if !h.addDriver(d) {
		return nil
	}
	defer h.removeDriver(d)
	if d.trial != nil && !d.trial.openedBy(d) {
		return nil
	}
	if d.err = h.options.Bubble(d.run); d.err != nil {
		log.Printf("fakecluster: a bubble: %v", d.err)
		d.tellEnd()
	}
	return nil
}

// tellEnd tells a client that is still there why the bubble has ended by itself.
func (d *driver) tellEnd() {
	d.mu.Lock()
	d.out = appendText(appendKind(d.out[:frameHead], bubbleEnded, 0), "the host has ended the clusters of this synctest bubble, which is a mistake of fakecluster: report it with the log of the host: "+d.err.Error())
	d.mu.Unlock()
	_ = d.conn.SetWriteDeadline(time.Now().Add(time.Second))
	_ = d.reply() // the client may have gone
}

// answerRaw writes an answer to a hijacked connection, and reports whether that succeeded.
func answerRaw(conn net.Conn, answer any) bool {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // texts can always be encoded
	}
	_, err = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	return err == nil
}

// errOtherBubble is the error for a request about a cluster in another bubble.
var errOtherBubble = refuse(http.StatusConflict, "the cluster lives in a synctest bubble and can be used only there: start one outside of the bubble, and fork it inside")

// errOutsideBubble is the error for a request in a bubble about a cluster that is not in it.
var errOutsideBubble = refuse(http.StatusConflict, "the cluster has real time: fork it in the bubble, and use the fork")

// addDriver adds the driver of a bubble, unless the host is closed.
func (h *Host) addDriver(d *driver) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.drivers[d] = true
	return true
}

func (h *Host) removeDriver(d *driver) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.drivers, d)
}

// driver advances the time of a bubble as the frames of its client ask for, and serves their requests.
type driver struct {
	host   *Host
	conn   net.Conn
	reader *bufio.Reader
	url    string        // of the clusters
	left   chan struct{} // of the process: closed when the bubble has ended
	err    error         // why the bubble has ended by itself; set before left is closed
	gone   chan struct{} // of the bubble: closed when the connection has ended
	trial  *trial        // that is played in the bubble; nil: none

	exchanges map[uint64]*exchange // used only by the goroutine of run
	running   sync.WaitGroup       // the goroutines of exchanges

	number string // of the bubble; guarded by the lock of the host

	mu       sync.Mutex
	out      []byte // the next frame
	clusters []*cluster
	calls    map[uint64]*functionCall // of functions of the client, which go on
	called   uint64                   // calls until now
	due      []time.Time              // when something happens on time
	idle     bool                     // nothing happens before
	told     time.Time                // of due, to the client
}

// driverKey is the key of a driver in the context of a request.
type driverKey struct{}

// driverOf returns the driver of the bubble in which a request is served, or nil.
func driverOf(ctx context.Context) *driver {
	d, _ := ctx.Value(driverKey{}).(*driver)
	return d
}

// stop ends the bubble from outside, and waits for its end.
func (d *driver) stop() {
	_ = d.conn.Close() // always nil, or closed before
	<-d.left
}

// run serves frames in the bubble until the connection ends. Then it closes the clusters.
func (d *driver) run() {
	defer bubble.Drive()()
	d.host.mu.Lock()
	d.number = bubble.Number()
	d.host.mu.Unlock()
	d.gone = make(chan struct{})
	cleanup := func() {}
	if d.trial != nil {
		cleanup = d.trial.play()
	}
	var buffer []byte
	for {
		now, messages, grown, err := readFrame(d.reader, buffer)
		if err != nil {
			break
		}
		buffer = grown
		if ahead := time.Until(now); ahead > 0 {
			time.Sleep(ahead)
			if len(messages) > 0 {
				synctest.Wait() // what was due comes before what the client asks for
			}
		}
		if d.take(messages) != nil {
			break
		}
		synctest.Wait()
		if d.reply() != nil {
			break
		}
	}
	close(d.gone)
	for _, x := range d.exchanges {
		x.cancel()
	}
	if d.trial == nil { // otherwise the trial is one of those who run, and ends its clusters
		d.endClusters() // requests about sockets and streams of containers end with them
	}
	d.running.Wait()
	cleanup()
	d.endClusters() // those that a request has started meanwhile
}

// endClusters ends the clusters of the bubble.
func (d *driver) endClusters() {
	d.mu.Lock()
	clusters := slices.Clone(d.clusters)
	d.mu.Unlock()
	for _, c := range clusters {
		d.host.remove(c)
		c.end()
	}
}

// take starts the actions of a frame.
func (d *driver) take(messages reader) error {
	for len(messages) > 0 {
		kind, id, err := messages.kind()
		if err != nil {
			return err
		}
		switch kind {
		case cancelExchange:
			if x := d.exchanges[id]; x != nil {
				x.cancel()
			}
			continue
		case functionHead, functionData, functionEnd:
			if err := d.takeCall(kind, id, &messages); err != nil {
				return err
			}
			continue
		case beginExchange:
		default:
			return errFrame
		}
		x := &exchange{driver: d, id: id}
		if err := x.read(&messages); err != nil {
			return err
		}
		d.exchanges[id] = x
		d.running.Go(x.serve)
	}
	return nil
}

// reply writes the next frame, with everything that has happened since the last one.
func (d *driver) reply() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.tellDue(now)
	sealFrame(d.out, now)
	_, err := d.conn.Write(d.out)
	if cap(d.out) > 1<<20 {
		d.out = make([]byte, 0, 4<<10)
	}
	d.out = d.out[:frameHead]
	for id, x := range d.exchanges {
		if x.ended {
			delete(d.exchanges, id)
		}
	}
	return err
}

// forget removes a cluster that ends before the bubble does.
func (d *driver) forget(c *cluster) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clusters = slices.DeleteFunc(d.clusters, func(other *cluster) bool { return other == c })
}

// expect notes that something happens at a time, and whether nothing does before.
func (d *driver) expect(due time.Time, idle bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due, d.idle = append(d.due, due), idle
}

// tellDue tells the client the next time at which something happens, unless it knows that. The caller has the lock.
func (d *driver) tellDue(now time.Time) {
	d.due = slices.DeleteFunc(d.due, func(due time.Time) bool { return !due.After(now) })
	if len(d.due) == 0 {
		return
	}
	next := slices.MinFunc(d.due, time.Time.Compare)
	if next.Equal(d.told) {
		return
	}
	d.told = next
	idle := uint64(0)
	if d.idle {
		idle = 1
	}
	d.out = binary.AppendUvarint(binary.AppendUvarint(appendKind(d.out, timeExpected, 0), uint64(next.UnixNano())), idle)
}

// endTrial tells the client that the trial has ended.
func (d *driver) endTrial() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out = appendKind(d.out, trialEnded, 0)
}

// mistake tells the client what is wrong.
func (d *driver) mistake(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out = appendText(appendKind(d.out, mistakeFound, 0), text)
}

// exchange is a request of a frame, to a cluster or to the control API.
type exchange struct {
	driver  *driver
	id      uint64
	cluster string // empty: the control API
	request *http.Request
	cancel  context.CancelFunc
	ended   bool // the client has the whole answer, at the latest with the next frame; guarded by the lock of the driver
}

// read reads the request.
func (x *exchange) read(messages *reader) error {
	var fields [4][]byte
	for i := range fields {
		var err error
		if fields[i], err = messages.text(); err != nil {
			return err
		}
	}
	header, err := messages.header()
	if err != nil {
		return err
	}
	body, err := messages.text()
	if err != nil {
		return err
	}
	x.cluster = string(fields[0])
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), driverKey{}, x.driver))
	if x.driver.trial != nil {
		ctx = place.WithCaller(ctx, header.Get(callerHeader))
	}
	header.Del(callerHeader)
	x.cancel = cancel
	x.request, err = http.NewRequestWithContext(ctx, string(fields[1]), "http://"+string(fields[3])+string(fields[2]), bytes.NewReader(bytes.Clone(body)))
	if err != nil {
		return err
	}
	x.request.Header = header
	return nil
}

// callerHeader has the line of code that sends a write of an operator, which is explored.
const callerHeader = "Fakecluster-Caller"

// put adds messages to the next frame.
func (x *exchange) put(add func(out []byte) []byte) {
	x.driver.mu.Lock()
	defer x.driver.mu.Unlock()
	x.driver.out = add(x.driver.out)
}

func (x *exchange) putData(p []byte) {
	x.put(func(out []byte) []byte { return appendText(appendKind(out, answerData, x.id), p) })
}

func (x *exchange) putHead(status int, header http.Header) {
	x.put(func(out []byte) []byte {
		return appendHeader(binary.AppendUvarint(appendKind(out, answerHead, x.id), uint64(status)), header)
	})
}

func (x *exchange) putEnd(text string) {
	x.put(func(out []byte) []byte { x.ended = true; return appendText(appendKind(out, answerEnd, x.id), text) })
}

// serve serves the request.
func (x *exchange) serve() {
	defer x.cancel()
	if x.cluster == "" {
		answer, returned := newRecorder(), false
		defer func() {
			if !returned { // runtime.Goexit, by the test of an exploration
				answer = newRecorder()
				writeError(answer, failed(errTestFailed))
			}
			x.putHead(answer.code, answer.header)
			x.putData(answer.body.Bytes())
			x.putEnd("")
		}()
		x.driver.host.serveRoute(answer, x.request)
		returned = true
		return
	}
	if err := x.forward(); err != nil {
		x.putEnd(err.Error())
		return
	}
	x.putEnd("")
}

// errTestFailed is the answer to a call that has failed the test of an exploration, which has the reason in its log.
var errTestFailed = errors.New("this has failed the run, whose log has the reason")

// forward sends the request to its cluster.
func (x *exchange) forward() error {
	c, err := x.driver.host.living(x.cluster)
	if err != nil {
		return err
	}
	if c.driver != x.driver {
		return errOtherBubble
	}
	answer, err := c.transport.RoundTrip(x.request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	x.putHead(answer.StatusCode, answer.Header)
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	for {
		n, err := answer.Body.Read(*buffer)
		if n > 0 {
			x.putData((*buffer)[:n])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// recorder is a ResponseWriter that stores the answer of the control API.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}, code: http.StatusOK} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(code int)        { r.code = code }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

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

// strayAddress returns the address of clusters in bubbles. A client that connects to it does not use the transport of
// the cluster, and gets an error that says how to use it.
func (h *Host) strayAddress() (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stray != nil {
		return "http://" + h.stray.Addr().String(), nil
	}
	if h.closed {
		return "", errors.New("the host has ended")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	h.stray = l
	go func() {
		_ = (&http.Server{Handler: http.HandlerFunc(h.serveStray), ReadHeaderTimeout: 10 * time.Second}).Serve(l) // until Close
	}()
	return "http://" + l.Addr().String(), nil
}

// strayText is the error for a client with its own transport.
const strayText = "the cluster lives in a synctest bubble, where a socket stops the time: give the client the transport of the cluster, " +
	"as in &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1} or &http.Client{Transport: c.Transport()}"

// strayUpgradeText is the error for a client that upgrades its own connection, as the executors and dialers of client-go do.
const strayUpgradeText = "the cluster lives in a synctest bubble, where a socket stops the time, and remotecommand.NewSPDYExecutor, remotecommand.NewWebSocketExecutor and spdy.RoundTripperFor open one: " +
	"write c.Exec, c.AttachPod or c.PortForward, or make the executor with spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{UpgradeTransport: c.Transport()})"

// serveStray rejects a request of a client with its own transport. It also reports the mistake to the bubble of the
// cluster, which it finds by the token.
func (h *Host) serveStray(w http.ResponseWriter, req *http.Request) {
	token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	text := strayText
	if req.Header.Get("Upgrade") != "" {
		text = strayUpgradeText
	}
	h.mu.Lock()
	told := map[*driver]bool{}
	for _, c := range h.clusters {
		if c.driver != nil && subtle.ConstantTimeCompare([]byte(c.token), []byte(token)) == 1 {
			told[c.driver] = true
		}
	}
	h.mu.Unlock()
	for d := range told {
		d.mistake(text)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Connection", "close") // leaves no goroutine in the client's bubble
	w.WriteHeader(http.StatusBadRequest)
	_ = encode(w, map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": struct{}{}, "status": "Failure", "reason": "BadRequest", "code": http.StatusBadRequest, "message": text}) // the client may have gone
}
