// Package clientgo has what a client of a cluster needs: a transport that calls an API server's http.Handler
// without sockets, a rest.Config and a kubeconfig, and the usual clients made from them. It depends on an
// http.Handler or a URL, and not on the server behind it.
//
// # The in-process transport
//
// [InProcess] turns a handler into an http.RoundTripper. Every request is one
// exchange: the handler runs on a goroutine of its own, and what it writes is
// handed to the client through one bounded buffer. What the client sees is what
// net/http would have sent it over HTTP/1.1:
//
//   - The header leaves with the handler's first Flush, when more than 2 KiB are written, or when the handler
//     returns, whichever comes first. A handler that returns before that gets a Content-Length, and what it
//     wrote up to then decides a missing Content-Type. So the header of an answer depends on the handler
//     alone, and never on timing. A handler that does not flush its watch hangs here as it does over a
//     socket.
//   - Once the header has left, the client sees every Write at once.
//   - A handler that is far ahead of its client blocks in Write: at most 64 KiB
//     wait in the buffer. A Write that does not fit, or is of 16 KiB or more, is
//     not copied there; the client reads it from the handler's own slice.
//   - The request's context ends both sides: RoundTrip and reads of the body return its cause, and the
//     handler's request context is cancelled, as it is when the client closes the body early. The handler's
//     context inherits neither values nor the deadline of the client's context, because HTTP does not
//     transmit them.
//   - A panic of a handler is logged and fails that exchange only; the process continues.
//
// What differs from a socket: no Date header, no trailers, no upgrade to another
// protocol (exec, attach, port-forward), no deadlines of an
// http.ResponseController. A handler may read the request's body after it has
// begun to answer (over HTTP/1.1 it has to enable that with
// http.ResponseController.EnableFullDuplex).
//
// # Invariants and lock order
//
// An exchange has one mutex and one condition variable; nothing blocks, calls
// foreign code or cancels a context while that mutex is held. Transport's mutex
// guards only the set of running exchanges. The two are never held together, so
// their order does not matter. An exchange is in its transport's set from
// before its goroutine starts until the handler has returned and the client has
// its result, which is what [Transport.Close] waits for.
//
// # Inside a testing/synctest bubble
//
// A transport has no goroutine and no channel of its own. Each request creates what its exchange waits on, in
// the bubble of the request. A waiting client, a waiting handler and a waiting Close are durably blocked. To
// leave no goroutine in the bubble, stop the informers, wait until their Run has returned, and then Close the
// transport, all inside the bubble.
//
// client-go's reflectors, informers and workqueues run in a bubble unchanged. Create them there, with
// everything they need: stop channels, contexts, queues, event broadcasters. One function is shared by the
// process and depends on the time: HandleError of k8s.io/apimachinery/pkg/util/runtime sleeps until a
// millisecond has passed since its last call, even if that call was made under another clock. This package
// wraps the error handler that sleeps, so that it does nothing in bubbles.
package clientgo
