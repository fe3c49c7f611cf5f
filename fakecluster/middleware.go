package fakecluster

import (
	"errors"
	"net/http"

	"github.com/fakecluster/fakecluster/rest"
)

// WithMiddleware puts your own handler around the server, for example one that counts or logs requests. wrap
// gets the server and returns the handler that is called in its place, over sockets and in process, also for
// forks. It is called once for each socket and once for the in-process transport. The handler must let
// watches stream: it passes on the flushes of the ResponseWriter, or has a method Unwrap, which
// [http.ResponseController] uses. It gets requests before they are authenticated. Several goroutines may call
// it at the same time. If it panics, the response is 500, as when the server panics, and the log of a failed
// test has the panic; [http.ErrAbortHandler] ends the connection.
//
// Default: none.
func WithMiddleware(wrap func(http.Handler) http.Handler) Option {
	return once("WithMiddleware", func(s *settings) { s.middleware, s.wrapped = wrap, true })
}

// checkMiddleware returns an error for a nil function.
func (s *settings) checkMiddleware() error {
	if s.wrapped && s.middleware == nil {
		return errors.New("WithMiddleware: the function is nil")
	}
	return nil
}

// handler returns what serves requests.
func (c *Cluster) handler() (http.Handler, error) {
	if c.settings.middleware == nil {
		return c.api, nil
	}
	wrapped := c.settings.middleware(c.api)
	if wrapped == nil {
		return nil, errors.New("WithMiddleware: the function returned nil instead of a handler")
	}
	return rest.RecoverPanics(c.services.panics.noting("WithMiddleware: ", wrapped)), nil
}
