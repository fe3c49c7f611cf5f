package rest

import "github.com/fakecluster/fakecluster/inspect"

// Requests returns the newest requests to the server, in the order in which they began: up to
// 10,000, and fewer if their paths, queries and messages take more than 8 MiB. The writes of the
// server's own controllers are among them and name their Cause. A client that has an answer finds
// the Code of its request here.
func (s *Server) Requests() []inspect.Request { return s.history.Requests() }

// Stats returns the counts of all requests since the server began or ForgetRequests was called, also of those
// that Requests does not have any more, and of those that run. It counts up to 10,000 different
// combinations of client, verb and resource, and all further ones as one.
func (s *Server) Stats() inspect.Stats { return s.history.Stats() }

// AccessRequests returns the requests of a user until now, each once and in the order in which they
// first came. Requests with the cluster's own token are not recorded.
func (s *Server) AccessRequests(user string) []inspect.AccessRequest { return s.access.Of(user) }

// ForgetRequests forgets the requests that have ended; the history still has the writers of all
// revisions. Requests in flight are kept, and Stats counts their events and bytes from now on. New
// requests continue the numbering.
func (s *Server) ForgetRequests() { s.history.Forget() }

// RestartRequests forgets all requests, and numbers those that come from 1. It is for a server that
// has been prepared and does not have clients yet.
func (s *Server) RestartRequests() { s.history.Restart() }
