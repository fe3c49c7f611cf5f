package fakecluster

import (
	"errors"
	"net/http"
)

// WithMiddleware puts a handler of your own around the server, for example one that counts requests
// or writes them down. wrap gets the server and returns what is called in its place, over sockets as
// in process, also for forks; it is called once for each way in. The handler must let watches stream: it passes on the flushes of the
// ResponseWriter, or has a method Unwrap, as [http.ResponseController] wants it. It sees requests
// before anybody has asked who makes them.
//
// Default: none.
func WithMiddleware(wrap func(http.Handler) http.Handler) Option {
	return once("WithMiddleware", func(s *settings) { s.middleware, s.wrapped = wrap, true })
}

// checkMiddleware returns an error for a function that is none.
func (s *settings) checkMiddleware() error {
	if s.wrapped && s.middleware == nil {
		return errors.New("WithMiddleware: the function is nil")
	}
	return nil
}

// handler is what serves requests.
func (c *Cluster) handler() http.Handler {
	if c.settings.middleware == nil {
		return c.server
	}
	return c.settings.middleware(c.server)
}
