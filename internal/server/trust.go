package server

import (
	"context"
	"maps"
	"sync/atomic"

	"github.com/fakecluster/fakecluster/internal/controller"
)

// trust has what the servers of aggregated APIs have to know of this one.
type trust struct {
	services   Services                 // nil: none
	configured func() map[string]string // nil: nothing

	// published is what data last returned.
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

// TrustsFiles reports whether files say which client CAs to publish.
func (c *Cluster) TrustsFiles() bool { return c.trust.configured != nil }

// PublishTrust publishes the client CAs if their files have changed, or if pods run now. A real server watches the files. Here
// PublishTrust is called before each request if there are such files, so that nothing has to run in the background.
func (c *Cluster) PublishTrust() {
	if c.trust.changed() {
		c.controllers.Resync(context.Background(), controller.AuthenticationTrust)
	}
}
