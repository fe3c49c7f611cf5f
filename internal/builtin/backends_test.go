package builtin

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/net/websocket"
)

// endsAtOnce is a text whose last read returns its end, too, as that of a response that has already arrived.
type endsAtOnce string

// InputStream implements rest.ResourceStreamer.
func (e endsAtOnce) InputStream(context.Context, string, string) (io.ReadCloser, bool, string, error) {
	return io.NopCloser(iotest.DataErrReader(strings.NewReader(string(e)))), true, "text/plain", nil
}

// A client that reads a log over a WebSocket gets all of it.
func TestTheLastTextOverAWebSocket(t *testing.T) {
	s := httptest.NewServer(streamed{from: endsAtOnce("a line\n")})
	defer s.Close()
	config, err := websocket.NewConfig("ws"+strings.TrimPrefix(s.URL, "http"), "http://localhost")
	if err != nil {
		t.Fatal(err)
	}
	config.Protocol = []string{"binary.k8s.io"}
	ws, err := websocket.DialConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, want := range []string{"", "a line\n"} { // the first message says that the stream begins
		var got []byte
		if err := websocket.Message.Receive(ws, &got); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if err := websocket.Message.Receive(ws, new([]byte)); err != io.EOF {
		t.Errorf("then %v, want the end", err)
	}
}
