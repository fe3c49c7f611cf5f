package server

import (
	"context"
	"maps"

	"github.com/fakecluster/fakecluster/internal/controller"
)

// authenticationInfo returns what is published now; nil: nothing.
func (o Options) authenticationInfo() map[string]string {
	if o.AuthenticationInfo == nil {
		return nil
	}
	return o.AuthenticationInfo()
}

// informationChanged reports whether Options.AuthenticationInfo returns something else than the last
// time. After one change it reports so once.
func (c *Cluster) informationChanged() bool {
	was, is := c.published.Load(), c.options.authenticationInfo()
	if was != nil && maps.Equal(*was, is) {
		return false
	}
	return c.published.CompareAndSwap(was, &is)
}

// PublishTrust publishes the authorities that the cluster trusts if they have changed. A real server watches the
// files that have them. Here each request leads to a call, so that nothing has to run in between.
func (c *Cluster) PublishTrust() {
	if c.options.AuthenticationInfo != nil && c.informationChanged() {
		c.controllers.Resync(context.Background(), controller.AuthenticationTrust)
	}
}
