package server

import (
	"context"
	"maps"

	"github.com/fakecluster/fakecluster/internal/controller"
)

// authenticationInfo returns the data to publish; nil: none.
func (c *Cluster) authenticationInfo() map[string]string {
	info := map[string]string{}
	if c.services != nil {
		maps.Copy(info, c.services.AuthenticationInfo())
	}
	if c.options.AuthenticationInfo != nil {
		maps.Copy(info, c.options.AuthenticationInfo())
	}
	return info
}

// informationChanged reports whether the result of authenticationInfo has changed since the last
// call. It returns true once for each change.
func (c *Cluster) informationChanged() bool {
	former, current := c.published.Load(), c.authenticationInfo()
	if former != nil && maps.Equal(*former, current) {
		return false
	}
	return c.published.CompareAndSwap(former, &current)
}

// PublishTrust publishes the client CAs if their files have changed, or if pods run now. A real server watches the files. Here
// PublishTrust is called before each request if there are such files, so that nothing has to run in the background.
func (c *Cluster) PublishTrust() {
	if c.informationChanged() {
		c.controllers.Resync(context.Background(), controller.AuthenticationTrust)
	}
}
