package rest

// Asked is a request of a user, in the words of RBAC.
type Asked struct {
	Verb string
	// Group, Resource and Subresource say what the verb is for.
	Group, Resource, Subresource string
	Namespace, Name              string
	Path                         string // of a request for no resource; empty for others
	Allowed                      bool
}

// Asked returns the requests of a user until now, each once and in the order in which they
// first came. Requests with the cluster's own token are not recorded.
func (s *Server) Asked(user string) []Asked {
	known := s.access.Of(user)
	asked := make([]Asked, len(known))
	for i, a := range known {
		asked[i] = Asked(a)
	}
	return asked
}
