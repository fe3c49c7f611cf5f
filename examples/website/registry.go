package website

import (
	"context"
	"errors"
)

// Registry is where host names are registered, outside of the cluster. A registration lapses
// after some hours unless it is renewed.
type Registry interface {
	// Register registers a host for an address and an owner, or renews that. It returns an
	// error that is ErrTaken if the host belongs to somebody else.
	Register(ctx context.Context, host, address, owner string) error
	// Release gives a host of the owner back. It is not an error if the owner has none.
	Release(ctx context.Context, host, owner string) error
}

// ErrTaken is the answer of a Registry when a host belongs to somebody else.
var ErrTaken = errors.New("the host belongs to somebody else")
