package auth

import (
	"slices"
	"sync"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// maxAsked is the number of different requests, of all users together, that an Access
// records with the names of objects. After that it records as many again without the names.
const maxAsked = 10_000

// Asked is a request of a user: for a resource, or for another path.
type Asked struct {
	Verb                         string
	Group, Resource, Subresource string
	Namespace, Name              string
	Path                         string // of a request for no resource; empty for others
	Allowed                      bool
}

// Access records the requests of users, each once. It is safe for concurrent use.
type Access struct {
	mu    sync.Mutex
	users map[string]*asker
	size  int
}

// asker has the requests of one user, in the order in which they first came.
type asker struct {
	known map[Asked]bool
	order []Asked
}

// Note records a request and whether it was allowed.
func (a *Access) Note(of authorizer.Attributes, allowed bool) {
	asked := Asked{Verb: of.GetVerb(), Allowed: allowed}
	if of.IsResourceRequest() {
		asked.Group, asked.Resource, asked.Subresource = of.GetAPIGroup(), of.GetResource(), of.GetSubresource()
		asked.Namespace, asked.Name = of.GetNamespace(), of.GetName()
	} else {
		asked.Path = of.GetPath()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	by := a.users[of.GetUser().GetName()]
	if by == nil {
		if a.users == nil {
			a.users = map[string]*asker{}
		}
		by = &asker{known: map[Asked]bool{}}
		a.users[of.GetUser().GetName()] = by
	}
	if a.size >= maxAsked && !by.known[asked] {
		asked.Name = ""
	}
	if by.known[asked] || a.size >= 2*maxAsked {
		return
	}
	by.known[asked] = true
	by.order = append(by.order, asked)
	a.size++
}

// Of returns the requests of a user, in the order in which they first came.
func (a *Access) Of(user string) []Asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	by := a.users[user]
	if by == nil {
		return nil
	}
	return slices.Clone(by.order)
}
