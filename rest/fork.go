package rest

import "github.com/fakecluster/fakecluster/store"

// Fork makes a server over a fork of this one's store. Neither server can see that the other one
// exists. If this server has not completed something, such as establishing a definition, the fork
// completes it for itself.
func (s *Server) Fork(forked *store.Store, services Services) (*Server, error) {
	options := s.options
	options.Services = services
	f := newServer(forked, options, s.history.Fork(forked.Revision(), forked.Oldest))
	cluster, err := s.cluster.Fork(forked, f.host())
	if err != nil {
		return nil, err
	}
	f.serve(cluster)
	if err := cluster.Continue(s.cluster); err != nil {
		return nil, err
	}
	f.compact.start()
	return f, nil
}
