package write

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// ErrObsolete is the error of a request whose Revision is obsolete because of another write. It is wrapped together with
// the Conflict that a client would see.
var ErrObsolete = errors.New("another write came first")

// ErrNotServed is the error of a write whose resource or version is no longer served.
var ErrNotServed = errors.New("the resource is no longer served")

// errModified is the text of conflicts over a resourceVersion.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// maxAttempts limits how often a write is tried while others come first. On a real server only the deadline ends such a
// write. Here a function of the write itself may update its object each time, and in a synctest bubble no time passes
// then, so that the deadline never comes.
const maxAttempts = 1_000

// errOvertaken is the error of a write that was tried maxAttempts times.
var errOvertaken = apierrors.NewTimeoutError(
	fmt.Sprintf("request did not complete within requested timeout - another write came first in each of %d attempts", maxAttempts), 0)

// mayLeaveFields reports whether an update that is too large is tried again without managedFields. createNew does that
// for a create.
func (r *Request) mayLeaveFields() bool {
	switch r.Change.(type) {
	case Apply, Create:
		return false
	}
	return true
}

// isObsolete reports whether a write failed because the object, its definition or its namespace has changed since the
// attempt read it.
func isObsolete(err error) bool {
	var conflict *store.ConflictError
	var exists *store.ExistsError
	return errors.As(err, &conflict) || errors.As(err, &exists) || errors.Is(err, store.ErrNotFound) || isOutdated(err)
}

// isOutdated reports whether a write failed because its definition or namespace has changed.
func isOutdated(err error) bool {
	var precondition *store.PreconditionError
	return errors.As(err, &precondition)
}

// renew returns the version of a request in the newest registry.
func (p *Pipeline) renew(former *resource.Version, r *Request) (*resource.Version, error) {
	registry, err := p.Registry()
	if err != nil {
		return nil, err
	}
	res := registry.Resource(former.Resource.Group, former.Resource.Names.Plural)
	if res == nil || res.Namespaced != former.Resource.Namespaced {
		return nil, ErrNotServed
	}
	version := res.Version(former.Name)
	if version == nil || former.Served && !version.Served {
		return nil, ErrNotServed
	}
	if r.Subresource != "" && version.Subresource[r.Subresource] == nil {
		return nil, apierrors.NewNotFound(res.GroupResource(), r.Name)
	}
	return version, nil
}
