package host_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/internal/host"
)

// bubbles returns how a host makes bubbles in a test; a benchmark does not have any.
func bubbles(t testing.TB) func(func()) error {
	test, ok := t.(*testing.T)
	if !ok {
		return nil
	}
	return func(run func()) error {
		test.Run("bubble", func(t *testing.T) { synctest.Test(t, func(*testing.T) { run() }) })
		return nil
	}
}

// bubbleClient is a client of a bubble.
type bubbleClient struct {
	t       *testing.T
	conn    net.Conn
	reader  *bufio.Reader
	now     time.Time
	begun   uint64
	answers map[uint64]host.Answered
	opened  host.OpenedBubble
}

// openBubble opens a bubble of the host of a client.
func openBubble(t *testing.T, c *client, request string) *bubbleClient {
	t.Helper()
	c.called["POST /v1/bubbles"] = true
	server := httptest.NewServer(c.host)
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	b := &bubbleClient{t: t, conn: conn, reader: bufio.NewReader(conn), now: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), answers: map[uint64]host.Answered{}}
	request = strings.ReplaceAll(request, "SESSION", c.session)
	fmt.Fprintf(conn, "POST /v1/bubbles HTTP/1.1\r\nHost: host\r\nContent-Length: %d\r\n\r\n%s", len(request), request)
	answer, err := http.ReadResponse(b.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", answer.StatusCode, text, err)
	}
	if err := json.Unmarshal(text, &b.opened); err != nil {
		t.Fatal(err)
	}
	return b
}

// send sends a frame and reads that of the host.
func (b *bubbleClient) send(frame []byte) {
	b.t.Helper()
	if _, err := b.conn.Write(frame); err != nil {
		b.t.Fatal(err)
	}
	if now, err := host.ReadAnswers(b.reader, b.answers); err != nil || !now.Equal(b.now) {
		b.t.Fatalf("the time of the host is %v, want %v; %v", now, b.now, err)
	}
}

// pass lets time pass.
func (b *bubbleClient) pass(d time.Duration) {
	b.t.Helper()
	b.now = b.now.Add(d)
	b.send(host.Frame(b.now, 0, "", "", "", "", ""))
}

// begin sends a request, and returns the number of its exchange.
func (b *bubbleClient) begin(cluster, method, uri, token, body string) uint64 {
	b.t.Helper()
	b.begun++
	b.send(host.Frame(b.now, b.begun, cluster, method, uri, token, body))
	return b.begun
}

// must sends a request, lets time pass until it is answered, and reads the answer.
func (b *bubbleClient) must(into any, cluster, method, uri, token, body string) {
	b.t.Helper()
	id := b.begin(cluster, method, uri, token, body)
	for range 100 { // workloads wait for their caches
		if b.answers[id].Ended {
			break
		}
		b.pass(100 * time.Millisecond)
	}
	a := b.answers[id]
	if !a.Ended || a.Err != "" || a.Status/100 != 2 {
		b.t.Fatalf("%s %s: %+v", method, uri, a)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(a.Body), into); err != nil {
		b.t.Fatal(err)
	}
}

// start starts a cluster in the bubble.
func (b *bubbleClient) start(fields string) (made host.Cluster) {
	b.t.Helper()
	b.must(&made, "", "POST", "/v1/clusters", "", `{"session": "`+b.opened.Session+`"`+fields+`}`)
	return made
}

const mapsPath = "/api/v1/namespaces/default/configmaps"

// tryBubble checks that the time of a bubble is that of its frames.
func tryBubble(t *testing.T, c *client) {
	b := openBubble(t, c, `{"session": "SESSION", "cluster": "c1"}`)
	var forked, made host.Cluster
	b.must(&forked, "", "POST", "/v1/clusters/"+b.opened.Cluster+"/fork", "", `{"session": "`+b.opened.Session+`"}`)
	b.must(nil, forked.Cluster, "GET", mapsPath+"/first", forked.Token, "")

	made = b.start("")
	b.pass(90 * time.Minute)
	b.must(nil, made.Cluster, "POST", mapsPath, made.Token, `{"metadata": {"name": "a"}}`)
	watch := b.begin(made.Cluster, "GET", mapsPath+"?watch=true&resourceVersion=0&fieldSelector=metadata.name=b", made.Token, "")
	if a := b.answers[watch]; a.Status != 200 || a.Ended || strings.Contains(a.Body, "ADDED") {
		t.Errorf("the watch: %+v", a)
	}
	b.must(nil, made.Cluster, "POST", mapsPath, made.Token, `{"metadata": {"name": "b"}}`)
	if a := b.answers[watch]; a.Ended || !strings.Contains(a.Body, `"creationTimestamp":"2000-01-01T01:30:00Z"`) {
		t.Errorf("the watch after the write: %+v", a)
	}
	b.send(host.CancelFrame(b.now, watch))
	if a := b.answers[watch]; !a.Ended {
		t.Errorf("the watch after its end: %+v", a)
	}

	settled := b.begin("", "POST", "/v1/clusters/"+made.Cluster+"/settle", "", "{}")
	b.pass(900 * time.Millisecond)
	if b.answers[settled].Ended {
		t.Error("a cluster is quiet too early")
	}
	b.pass(200 * time.Millisecond)
	if a := b.answers[settled]; !a.Ended || a.Status != http.StatusNoContent {
		t.Errorf("a quiet cluster: %+v", a)
	}

	tryStrangers(t, c, b, made)
	b.conn.Close() // the clusters end
}

// tryStrangers checks what others are told who use a cluster in a bubble.
func tryStrangers(t *testing.T, c *client, b *bubbleClient, made host.Cluster) {
	const elsewhere = "the cluster lives in a synctest bubble and can be used only there"
	for _, path := range []string{"/v1/clusters/" + made.Cluster + "/settle", "/v1/clusters/" + made.Cluster + "/fork", "/v1/bubbles"} {
		if code, text := c.send("POST", path, `{"session": "SESSION", "cluster": "`+made.Cluster+`"}`); code != http.StatusConflict || !strings.Contains(text, elsewhere) {
			t.Errorf("%s outside of the bubble: %d %s", path, code, text)
		}
	}
	if a := b.answers[b.begin("", "GET", "/v1/clusters/c1/stats", "", "")]; a.Status != http.StatusConflict || !strings.Contains(a.Body, "the cluster has real time: fork it in the bubble, and use the fork") {
		t.Errorf("a cluster outside: %+v", a)
	}
	if a := b.answers[b.begin("c1", "GET", mapsPath, "", "")]; a.Err != elsewhere+": start one outside of the bubble, and fork it inside" {
		t.Errorf("a request to a cluster outside: %+v", a)
	}
	req, err := http.NewRequest("GET", made.URL+mapsPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+made.Token)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	const own = "give the client the transport of the cluster"
	if err != nil || answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), own) {
		t.Errorf("a client with a socket: %d %s %v", answer.StatusCode, text, err)
	}
	b.pass(time.Second)
	if a := b.answers[0]; !strings.Contains(a.Err, own) {
		t.Errorf("the bubble is told %+v", a)
	}
}

// The clusters of a bubble end with their connection, as that of a client that is killed, with their session, and with the host.
func TestBubblesEndWithTheirConnection(t *testing.T) {
	for name, end := range map[string]func(*client, *bubbleClient){
		"connection": func(_ *client, b *bubbleClient) { _ = b.conn.(interface{ CloseWrite() error }).CloseWrite() },
		"session":    func(c *client, _ *bubbleClient) { c.end() },
		"host":       func(c *client, _ *bubbleClient) { _ = c.host.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t)
			b := openBubble(t, c, `{"session": "SESSION"}`)
			made := b.start(`, "workloads": {"nodes": 1}`)
			b.begin(made.Cluster, "GET", mapsPath+"?watch=true", made.Token, "")
			network, conn := "/v1/clusters/"+made.Cluster+"/network", host.ContainerResult{}
			b.must(&conn, "", "POST", network, "", `{"action": "dial", "network": "udp", "address": "10.0.0.10:53"}`)
			b.begin("", "POST", network, "", fmt.Sprintf(`{"action": "read", "socket": %d}`, conn.Socket)) // there is nothing to read
			end(c, b)
			if _, err := b.reader.ReadByte(); err == nil {
				t.Error("the connection goes on")
			}
			if code, text := c.send("GET", "/v1/clusters", ""); code != http.StatusOK || strings.Contains(text, made.Cluster) {
				t.Errorf("clusters are left: %d %s", code, text)
			}
		})
	}
}

// A loop without a pause fails the test in the process of the client. The host serves the bubble on, in large steps of time.
func TestALoopInABubbleIsToldToItsClient(t *testing.T) {
	b := openBubble(t, newClient(t), `{"session": "SESSION"}`)
	made := b.start("")
	b.pass(time.Second)
	for range 2_001 {
		b.begin(made.Cluster, "DELETE", mapsPath+"/a", made.Token, "")
	}
	const want = "time in the synctest bubble stands still, because of endless writes to DELETE /api/v1/namespaces/default/configmaps/a from Go-http-client (2001 times). " +
		"Write only what has changed: if !equality.Semantic.DeepEqual(before, after) { … }"
	if a := b.answers[0]; a.Err != want {
		t.Errorf("the client is told %+v", a)
	}
	if a := b.answers[b.begun]; a.Ended {
		t.Errorf("the last request is answered at once: %+v", a)
	}
	b.pass(time.Second)
	if a := b.answers[b.begun]; a.Status != http.StatusInternalServerError || !strings.Contains(a.Body, want) {
		t.Errorf("the last request: %+v", a)
	}
	var ended host.Ended
	b.must(&ended, "", "DELETE", "/v1/clusters/"+made.Cluster, "", "")
	if len(ended.Errors) != 0 {
		t.Errorf("the end of the cluster repeats %q", ended.Errors)
	}
}

// Why a bubble has ended by itself, such as a deadlock, is told to its client in a last frame.
func TestABubbleThatEndsByItself(t *testing.T) {
	inBubble := bubbles(t)
	h := host.New(host.Options{Bubble: func(run func()) error {
		_ = inBubble(run)
		return errors.New("it ended: deadlock") // as the program fakecluster does
	}})
	t.Cleanup(func() { _ = h.Close() })
	b := openBubble(t, openSession(t, h), `{"session": "SESSION"}`)
	if _, err := b.conn.Write(host.Nonsense(b.now)); err != nil { // with which the host ends the bubble
		t.Fatal(err)
	}
	if _, err := host.ReadAnswers(b.reader, b.answers); err != nil {
		t.Fatal(err)
	}
	const want = "the host has ended the clusters of this synctest bubble, which is a mistake of fakecluster: report it with the log of the host: it ended: deadlock"
	if a := b.answers[0]; a.Err != want {
		t.Errorf("%+v", a)
	}
	if _, err := b.reader.ReadByte(); err != io.EOF {
		t.Errorf("after the last frame: %v", err)
	}
}
