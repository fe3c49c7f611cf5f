package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
)

// bubble connects a testing/synctest bubble of this process with a bubble of the host, which has the same
// time. Its methods are called in the bubble.
//
// A goroutine that waits for a socket stops the time of the bubble. So the goroutine of a request writes and
// reads the connection, and nothing reads it between two requests. Changes in the cluster arrive with the
// answer to the next frame: that of a request, or one of the pump, which sends a frame whenever some time has
// passed.
type bubble struct {
	host    *connection
	session string // the session of its clusters
	cluster string // the name of the cluster outside of bubbles that is forked, in the host of its version
	watched *watchedBubble
	index   *clusterIndex
	trial   *playedTrial // of an exploration; nil: none

	exploration string // the name of that exploration, in the host of its version

	mu        sync.Mutex // not held while anything waits for time to pass
	conn      net.Conn
	reader    *bufio.Reader
	frame     []byte
	exchanges map[uint64]*exchange
	begun     uint64                  // the number of exchanges until now
	calls     map[uint64]*runningCall // running calls of handlers of the test
	serving   sync.WaitGroup          // the goroutines of these
	err       error                   // why the host no longer answers
	clusters  []*Cluster
	ending    int       // clusters that end, which takes a second of the store
	closed    bool      // the last cluster has ended
	mistaken  string    // a mistake that the host has found, until the pump reports it
	expected  time.Time // when something happens in the host that a frame has to be there for
	idle      bool      // nothing happens there before

	busy chan struct{} // has a value when something has happened that the pump should look after
	stop chan struct{} // closed at the end
	gone chan struct{} // closed when the pump has ended
}

// hostPatience is how long the host may take for a frame, in real time: the deadline of a socket is not virtual. Tests replace it.
var hostPatience = 2 * time.Minute

// The mistakes of a test in a bubble, each with what to write instead.
var (
	errOldGo        = fmt.Errorf("a cluster in a synctest bubble needs Go 1.25 or newer, and this is %s: write go 1.25 into go.mod, or run GOTOOLCHAIN=go1.25.0 go test", runtime.Version())
	errUsedInBubble = errors.New("the cluster was started outside of the synctest bubble that uses it: write c := base.Fork(t) in the bubble, where base is the cluster, and use the transport of c")
	errUsedOutside  = errors.New("the cluster was started in a synctest bubble and is used outside of it: use the cluster in the function of synctest.Test, or start it outside and write c := base.Fork(t) in the bubble")
	errOuterTest    = errors.New("t is the test outside of the synctest bubble: write synctest.Test(t, func(t *testing.T) { … }), and use the t of that function")
	errEnded        = errors.New("the cluster has ended")
)

// checkTest ends the test if code in a bubble uses the t of the test outside.
func checkTest(t testing.TB) {
	t.Helper()
	if bubbles.IsOuter(t) {
		t.Fatalf("fakecluster: %v", errOuterTest)
	}
}

// checkPlace returns an error if the caller is in a bubble and the cluster is not, or the reverse.
func (c *Cluster) checkPlace() error {
	switch inside := bubbles.Inside(); {
	case inside == (c.bubble != nil):
		return nil
	case inside:
		return errUsedInBubble
	}
	return errUsedOutside
}

// openBubble opens a bubble of the host with the fields of the request besides the session: the version of a cluster, a cluster outside that will be forked, or a trial of an exploration.
func openBubble(h *connection, fields map[string]any, trial *playedTrial) (*bubble, error) {
	if !hasBubbles {
		return nil, errOldGo
	}
	conn, err := net.Dial(h.network, h.address)
	if err != nil {
		return nil, h.gone("the host", err)
	}
	b := &bubble{host: h, trial: trial, conn: conn, reader: bufio.NewReader(conn), frame: make([]byte, frameHead, 4<<10), exchanges: map[uint64]*exchange{}, calls: map[uint64]*runningCall{}, index: newClusterIndex(),
		busy: make(chan struct{}, 1), stop: make(chan struct{}), gone: make(chan struct{})}
	fields["session"] = h.session
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	req, err := h.request(context.Background(), "POST", "/v1/bubbles", text)
	if err == nil {
		err = req.Write(conn)
	}
	var answer *http.Response
	if err == nil {
		answer, err = http.ReadResponse(b.reader, req)
	}
	var opened struct{ Session, Cluster, Exploration, Error string }
	if err == nil {
		err = json.NewDecoder(answer.Body).Decode(&opened)
	}
	if err == nil && opened.Session == "" {
		err = errors.New(opened.Error)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	answer.Body.Close()
	b.session, b.cluster, b.exploration = opened.Session, opened.Cluster, opened.Exploration
	b.watched = watchBubble(b)
	go b.pump()
	return b, nil
}

// add adds a cluster, which ends with the bubble.
func (b *bubble) add(c *Cluster) {
	c.bubble = b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clusters = append(b.clusters, c)
}

// ends adds change to the number of clusters that are closing.
func (b *bubble) ends(change int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ending += change
}

// remove removes a cluster that has ended, and ends the bubble of the last one.
func (b *bubble) remove(c *Cluster) {
	b.mu.Lock()
	for i, other := range b.clusters {
		if other == c {
			b.clusters = append(b.clusters[:i:i], b.clusters[i+1:]...)
			break
		}
	}
	last := len(b.clusters) == 0 && !b.closed
	b.closed = b.closed || last
	b.mu.Unlock()
	if last {
		b.close()
	}
}

// close ends the bubble of the host.
func (b *bubble) close() {
	close(b.stop)
	<-b.gone
	b.mu.Lock()
	if b.err == nil {
		b.err = errEnded
	}
	b.fail()
	b.conn.Close()
	b.mu.Unlock()
	b.awaitCalls()
	b.watched.stop()
}

// callPatience is how long handlers may go on after the context of their calls has ended, in the time of the bubble.
const callPatience = time.Minute

// awaitCalls waits until the handlers have returned, as a server does that ends. A handler that ignores the end of its context is left, and the
// runtime names it.
func (b *bubble) awaitCalls() {
	ended := make(chan struct{})
	go func() {
		b.serving.Wait()
		close(ended)
	}()
	patience := time.NewTimer(callPatience)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
	}
}

// fail ends all exchanges with the error of the bubble, and the contexts of all calls. The caller has its lock.
func (b *bubble) fail() {
	for _, running := range b.calls {
		running.cancel()
	}
	if b.trial != nil {
		b.trial.end()
	}
	for id, x := range b.exchanges {
		x.end(b.err)
		delete(b.exchanges, id)
	}
}

// begin sends a request, and returns its exchange. When it returns, all changes until then have been passed
// to their readers.
func (b *bubble) begin(cluster, method, uri, host string, header http.Header, body []byte, patient bool) (*exchange, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun++
	x := &exchange{bubble: b, id: b.begun, changed: make(chan struct{}, 1)}
	x.answered.Store(patient)
	b.exchanges[x.id] = x
	f := appendKind(b.frame, beginExchange, x.id)
	f = appendText(appendText(appendText(appendText(f, cluster), method), uri), host)
	if err := b.exchange(appendText(appendHeader(f, header), body), x); err != nil {
		return nil, err
	}
	return x, nil
}

// cancel ends an exchange whose answer nobody reads any more.
func (b *bubble) cancel(x *exchange) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.exchanges[x.id] == nil || b.err != nil {
		return
	}
	_ = b.exchange(appendKind(b.frame, cancelExchange, x.id), x) // the bubble has the error
	delete(b.exchanges, x.id)
}

// exchange sends a frame, and passes the messages of the answer to their readers. own is the exchange of the
// caller, or nil. The caller has the lock.
func (b *bubble) exchange(frame []byte, own *exchange) error {
	if b.err != nil {
		return b.err
	}
	b.watched.frames.Add(1)
	sealFrame(frame, time.Now())
	_ = b.conn.SetDeadline(time.Now().Add(hostPatience)) // without it the read waits longer
	_, err := b.conn.Write(frame)
	var messages reader
	if err == nil {
		messages, err = readFrame(b.reader)
	}
	if cap(frame) <= 1<<20 {
		b.frame = frame[:frameHead]
	}
	for err == nil && len(messages) > 0 {
		err = b.take(&messages, own)
	}
	if err != nil {
		if b.err = err; !errors.As(err, new(endedError)) {
			b.err = b.host.gone("the host of the cluster", err)
		}
		b.fail()
		return b.err
	}
	return nil
}

// endedError says why the host has ended the bubble.
type endedError string

func (e endedError) Error() string { return string(e) }

// take processes one message of the host. The caller has the lock.
func (b *bubble) take(messages *reader, own *exchange) error {
	kind, id, err := messages.kind()
	if err != nil {
		return err
	}
	switch kind {
	case callFunction:
		b.wake()
		return b.startCall(id, messages)
	case cancelCall:
		if running := b.calls[id]; running != nil {
			running.cancel()
		}
		return nil
	case timeExpected:
		b.wake()
		return b.expect(messages)
	case trialEnded:
		b.trial.end()
		return nil
	case bubbleEnded:
		text, err := messages.text()
		if err == nil {
			err = endedError(string(text) + "; the log is " + b.host.log())
		}
		return err
	}
	x := b.exchanges[id]
	if x == nil {
		x = &exchange{} // it was canceled
	}
	if x != own {
		b.wake()
	}
	switch kind {
	case answerHead:
		status, err := messages.number()
		if err != nil {
			return err
		}
		header, err := messages.header()
		if err != nil {
			return err
		}
		x.setHead(int(status), header)
	case answerData:
		data, err := messages.text()
		if err != nil {
			return err
		}
		x.addData(data)
	case answerEnd:
		text, err := messages.text()
		if err != nil {
			return err
		}
		delete(b.exchanges, id)
		x.end(endOf(string(text)))
	case mistakeFound:
		text, err := messages.text()
		if err != nil {
			return err
		}
		b.mistaken = string(text)
	default:
		return errFrame
	}
	return nil
}

// endOf returns the error with which an exchange has ended: nil if it is complete.
func endOf(text string) error {
	switch text {
	case "":
		return nil
	case io.ErrUnexpectedEOF.Error(): // a fault has cut the connection
		return io.ErrUnexpectedEOF
	}
	return errors.New(text)
}

// expect takes the time at which a frame has to be there. The caller has the lock.
func (b *bubble) expect(messages *reader) error {
	due, err := messages.number()
	if err != nil {
		return err
	}
	idle, err := messages.number()
	b.expected, b.idle = time.Unix(0, int64(due)), idle == 1
	return err
}

// wake makes the pump begin with small steps again.
func (b *bubble) wake() {
	select {
	case b.busy <- struct{}{}:
	default:
	}
}

// The steps of the pump. The first one is firstStep. Each further one is as long as the time since the last
// activity, but at most longestStep or a thousandth of that time, whichever is longer. While a request or a
// call of a handler waits for its answer, a step is at most a twentieth of that time. No step goes past the time
// at which the host expects a frame; if nothing happens there before, there is no longest step.
const (
	firstStep   = time.Millisecond
	longestStep = time.Second
	// endStep is the step while a cluster is closing.
	endStep = 250 * time.Millisecond
	// calmStep is the first step in a trial of an exploration: nothing happens in less time there.
	calmStep = 250 * time.Millisecond
)

func (b *bubble) step(idle time.Duration) time.Duration {
	b.mu.Lock()
	ending, waits, expected := b.ending > 0, false, time.Until(b.expected)
	for _, running := range b.calls {
		waits = waits || !running.lasting
	}
	calm := b.idle && expected > 0 && !waits
	for _, x := range b.exchanges {
		waits = waits || !x.answered.Load()
	}
	b.mu.Unlock()
	if ending {
		return endStep
	}
	step := idle
	switch {
	case calm:
		step = max(step, calmStep)
	case waits:
		step = min(idle/20, max(longestStep, idle/1000))
	default:
		step = min(idle, max(longestStep, idle/1000))
	}
	if step = max(firstStep, step); expected > 0 {
		step = min(step, expected)
	}
	return step
}

// pump advances the time of the host's bubble with that of this one, and collects the changes there.
func (b *bubble) pump() {
	defer close(b.gone)
	last := time.Now()
	for {
		timer := time.NewTimer(b.step(time.Since(last)))
		select {
		case <-b.stop:
			timer.Stop()
			return
		case <-b.busy:
			timer.Stop()
			last = time.Now()
			continue
		case <-timer.C:
		}
		b.watched.passed()
		b.mu.Lock()
		err := b.exchange(b.frame, nil)
		mistake := b.mistaken
		b.mistaken = ""
		b.mu.Unlock()
		if err != nil {
			if b.trial == nil { // otherwise the exploration has ended, too
				b.report(err.Error())
			}
			<-b.stop
			return
		}
		if mistake != "" {
			b.report(mistake)
		}
	}
}

// report fails the trial, or the tests of the clusters, with a mistake. If a test does not end, the check of the bubble ends
// the process. A cluster without a test returns the mistake from Close.
func (b *bubble) report(mistake string) {
	if b.trial != nil {
		b.trial.fail(mistake)
		return
	}
	b.watched.mistaken(mistake)
	b.mu.Lock()
	var tests []testing.TB
	for _, c := range b.clusters {
		if c.test != nil {
			tests = append(tests, c.test)
			continue
		}
		c.mu.Lock()
		c.wrong = append(c.wrong, errors.New(mistake))
		c.mu.Unlock()
	}
	b.mu.Unlock()
	for _, t := range tests {
		t.Errorf("fakecluster: %s", mistake)
	}
}

// exchange is a request and its answer.
type exchange struct {
	bubble   *bubble
	id       uint64
	answered atomic.Bool
	changed  chan struct{} // has a value when there is something to take

	mu     sync.Mutex
	status int // 0: there is no answer yet
	header http.Header
	data   [][]byte
	ended  bool
	err    error // the error with which it ended
}

func (x *exchange) change(f func()) {
	x.mu.Lock()
	f()
	x.mu.Unlock()
	select {
	case x.changed <- struct{}{}:
	default:
	}
}

func (x *exchange) setHead(status int, header http.Header) {
	x.answered.Store(true)
	x.change(func() { x.status, x.header = status, header })
}

func (x *exchange) addData(data []byte) {
	if len(data) > 0 {
		x.change(func() { x.data = append(x.data, data) })
	}
}

func (x *exchange) end(err error) {
	x.answered.Store(true)
	x.change(func() { x.ended, x.err = true, err })
}
