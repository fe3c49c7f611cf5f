package authorization

import (
	"slices"
	"sync"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/fakecluster/fakecluster/inspect"
)

// maxAccessRequests is the number of different requests, of all users together, that an Access records with the names of
// objects. After that it records as many without names.
const maxAccessRequests = 10_000

// Access records the requests of users, each once. It is safe for concurrent use.
type Access struct {
	mu    sync.Mutex
	users map[string]*userRequests
	size  int
}

// userRequests has the requests of one user, in the order in which they first came.
type userRequests struct {
	seen  map[inspect.AccessRequest]bool
	order []inspect.AccessRequest
}

// Note records a request and whether it was allowed.
func (a *Access) Note(attributes authorizer.Attributes, allowed bool) {
	request := inspect.AccessRequest{Verb: attributes.GetVerb(), Allowed: allowed}
	if attributes.IsResourceRequest() {
		request.Group, request.Resource, request.Subresource = attributes.GetAPIGroup(), attributes.GetResource(), attributes.GetSubresource()
		request.Namespace, request.Name = attributes.GetNamespace(), attributes.GetName()
	} else {
		request.Path = attributes.GetPath()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	by := a.users[attributes.GetUser().GetName()]
	if by == nil {
		if a.users == nil {
			a.users = map[string]*userRequests{}
		}
		by = &userRequests{seen: map[inspect.AccessRequest]bool{}}
		a.users[attributes.GetUser().GetName()] = by
	}
	if a.size >= maxAccessRequests && !by.seen[request] {
		request.Name = ""
	}
	if by.seen[request] || a.size >= 2*maxAccessRequests {
		return
	}
	by.seen[request] = true
	by.order = append(by.order, request)
	a.size++
}

// ByUser returns the requests of a user, in the order in which they first came.
func (a *Access) ByUser(user string) []inspect.AccessRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	by := a.users[user]
	if by == nil {
		return nil
	}
	return slices.Clone(by.order)
}
