package server

import (
	"context"
	"maps"

	"github.com/fakecluster/fakecluster/internal/lifecycle"
)

// authenticationInfo returns what is published now; nil: nothing.
func (o Options) authenticationInfo() map[string]string {
	if o.AuthenticationInfo == nil {
		return nil
	}
	return o.AuthenticationInfo()
}

// informationChanged tells whether Options.AuthenticationInfo returns something else than the last
// time. After one change it tells so once.
func (c *Cluster) informationChanged() bool {
	was, is := c.published.Load(), c.options.authenticationInfo()
	if was != nil && maps.Equal(*was, is) {
		return false
	}
	return c.published.CompareAndSwap(was, &is)
}

// PublishTrust publishes whom the cluster trusts, if that is not what it was. A real server watches the
// files that say it. Here each request leads to a call, so that nothing has to run in between.
func (c *Cluster) PublishTrust() {
	if c.options.AuthenticationInfo != nil && c.informationChanged() {
		c.reactor.Again(context.Background(), lifecycle.AuthenticationTrust)
	}
}
