package auth

import (
	"slices"
	"sync"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// maxAsked is how many different requests of all users together an Access remembers. Then it
// forgets the names of objects in further ones, and remembers as many again.
const maxAsked = 10_000

// Asked is something that a user has asked for: of a resource, or at a path that is none.
type Asked struct {
	Verb                         string
	Group, Resource, Subresource string
	Namespace, Name              string
	Path                         string // of a request for no resource; empty for others
	Allowed                      bool
}

// Access remembers what users have asked for: each request once. It is safe for concurrent use.
type Access struct {
	mu    sync.Mutex
	users map[string]*asker
	size  int
}

// asker has what one user has asked for, in the order of the first time.
type asker struct {
	known map[Asked]bool
	order []Asked
}

// Note remembers a request and whether it was allowed.
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

// Of is what a user has asked for, in the order of the first time.
func (a *Access) Of(user string) []Asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	by := a.users[user]
	if by == nil {
		return nil
	}
	return slices.Clone(by.order)
}
