package rest

// Asked is something that a user has asked for, in the words of RBAC.
type Asked struct {
	Verb string
	// Group, Resource and Subresource say what the verb is for.
	Group, Resource, Subresource string
	Namespace, Name              string
	Path                         string // of a request for no resource; empty for others
	Allowed                      bool
}

// Asked returns what a user has asked for until now, each request once and in the order of the
// first time. What the user with the cluster's own token asks for is not recorded.
func (s *Server) Asked(user string) []Asked {
	known := s.access.Of(user)
	asked := make([]Asked, len(known))
	for i, a := range known {
		asked[i] = Asked(a)
	}
	return asked
}
