package host

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/internal/bubble"
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
	there, asked, err := h.bubbleElsewhere(b)
	if err != nil {
		return err
	}
	if there != nil {
		return there.pipeBubble(w, asked)
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
	if !answerRaw(conn, OpenedBubble{b.Session, b.Cluster, b.Exploration}) {
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

// bubbleElsewhere returns the session in the host of another version that must open a bubble, and what to ask it for; nil: this host opens it.
func (h *Host) bubbleElsewhere(b Bubble) (*otherSession, Bubble, error) {
	if x := h.elsewhere(b.Exploration); x != nil {
		if err := x.checkSession(b.Session); err != nil {
			return nil, Bubble{}, err
		}
		there := x.other.session
		return there, Bubble{Session: there.id, Exploration: x.other.name, Trial: b.Trial}, nil
	}
	other, err := isOther(b.KubernetesVersion)
	if err != nil {
		return nil, Bubble{}, err
	}
	version, origin := b.KubernetesVersion, ""
	if b.Cluster != "" {
		c, err := h.cluster(b.Cluster)
		switch {
		case err != nil:
			return nil, Bubble{}, err
		case c.driver != nil:
			return nil, Bubble{}, errOtherBubble
		case c.other == nil:
			return nil, Bubble{}, nil
		}
		other, version, origin = true, c.other.session.version, c.other.cluster.Cluster
	}
	if !other {
		return nil, Bubble{}, nil
	}
	there, err := h.otherSession(b.Session, version)
	if err != nil {
		return nil, Bubble{}, err
	}
	return there, Bubble{Session: there.id, Cluster: origin}, nil
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
	mistaken bool                     // the test has failed for a mistake, and goes on
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
	defer bubble.Drive(d.mistakes())()
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
	if d.mistaken && len(d.due) == 0 {
		d.due, d.idle = append(d.due, now.Add(mistakenStep)), true
	}
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

// mistakenStep is how far the time of a bubble may advance at once after a mistake. The test has failed and waits for its
// end, so a client may see events late.
const mistakenStep = time.Second

// mistakes returns what passes the mistakes of the test on to the process of the client. That process ends by itself if
// its test goes on. In a trial, a mistake is for the exploration.
func (d *driver) mistakes() bubble.Driver {
	if d.trial != nil {
		return bubble.Driver{End: func(text string) { d.trial.exploration.tell(ExplorationLine{Panic: text}) }}
	}
	return bubble.Driver{Fail: d.mistake, End: func(string) {}}
}

// mistake tells the client what is wrong.
func (d *driver) mistake(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mistaken = true
	d.out = appendText(appendKind(d.out, mistakeFound, 0), text)
}
