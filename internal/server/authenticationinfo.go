package server

import (
	"context"
	"maps"

	"github.com/fakecluster/fakecluster/internal/controller"
)

// authenticationInfo returns the data to publish; nil: none.
func (o Options) authenticationInfo() map[string]string {
	if o.AuthenticationInfo == nil {
		return nil
	}
	return o.AuthenticationInfo()
}

// informationChanged reports whether the result of Options.AuthenticationInfo has changed since the last
// call. It returns true once for each change.
func (c *Cluster) informationChanged() bool {
	was, is := c.published.Load(), c.options.authenticationInfo()
	if was != nil && maps.Equal(*was, is) {
		return false
	}
	return c.published.CompareAndSwap(was, &is)
}

// PublishTrust publishes the client CAs if their files have changed. A real server watches the files. Here
// PublishTrust is called before each request, so that nothing has to run in the background.
func (c *Cluster) PublishTrust() {
	if c.options.AuthenticationInfo != nil && c.informationChanged() {
		c.controllers.Resync(context.Background(), controller.AuthenticationTrust)
	}
}
