package server

import (
	"context"
	"maps"
	"sync/atomic"

	"github.com/fakecluster/fakecluster/internal/controller"
)

// trust has the client CAs that aggregated API servers must trust.
type trust struct {
	services   Services                 // nil: none
	configured func() map[string]string // nil: nothing

	// published is the last result of data.
	published atomic.Pointer[map[string]string]
}

// data returns the data to publish; nil: none.
func (t *trust) data() map[string]string {
	info := map[string]string{}
	if t.services != nil {
		maps.Copy(info, t.services.AuthenticationInfo())
	}
	if t.configured != nil {
		maps.Copy(info, t.configured())
	}
	return info
}

// changed reports whether the data has changed since the last call. It returns true once for each change.
func (t *trust) changed() bool {
	former, current := t.published.Load(), t.data()
	if former != nil && maps.Equal(*former, current) {
		return false
	}
	return t.published.CompareAndSwap(former, &current)
}

// TrustsFiles reports whether the client CAs come from files.
func (c *Cluster) TrustsFiles() bool { return c.trust.configured != nil }

// PublishTrust publishes the client CAs if their files have changed, or if pods have begun to run. A real server watches
// the files. Here PublishTrust is called before each request, so that nothing runs in the background.
func (c *Cluster) PublishTrust() {
	if c.trust.changed() {
		c.controllers.Resync(context.Background(), c.own, controller.AuthenticationTrust)
	}
}
