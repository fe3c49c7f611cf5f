package rest

import (
	"context"
	"errors"
	"net/http"

	"golang.org/x/net/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/fakecluster/fakecluster/internal/aggregation"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// overWebSocket runs a watch whose client requests a WebSocket, as a browser does. Each event is a message:
// text if the media type is text, and binary otherwise. Messages of the client are ignored. The watch ends
// when the client closes the connection.
func overWebSocket(ctx context.Context, r *request, info runtime.SerializerInfo, run func(context.Context, frames)) error {
	w := aggregation.Hijackable(r.w)
	if w == nil {
		return apierrors.NewInternalError(errors.New("unable to upgrade: unable to hijack response"))
	}
	// As on a real server, a request of a client without an Origin gets no WebSocket.
	websocket.Handler(func(ws *websocket.Conn) {
		defer ws.Close()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			wsstream.IgnoreReceives(ws, 0)
			cancel()
		}()
		run(ctx, messages{ws, info.EncodesAsText, &contextOf(r.http).observe})
	}).ServeHTTP(w, r.http)
	return nil
}

// messages writes the frames of a watch over a WebSocket, each as a message.
type messages struct {
	ws      *websocket.Conn
	text    bool
	observe *observe.Request
}

func (m messages) begin(string) { m.observe.Responded(http.StatusSwitchingProtocols, true) }

// lengthOfFrame is the number of bytes with which a binary frame states its length. A message of
// a WebSocket does not need them.
const lengthOfFrame = 4

func (m messages) write(frame []byte) error {
	if m.text {
		return websocket.Message.Send(m.ws, string(frame))
	}
	return websocket.Message.Send(m.ws, frame[lengthOfFrame:])
}

func (messages) flush() {}
