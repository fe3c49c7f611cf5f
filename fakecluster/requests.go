package fakecluster

import "github.com/fakecluster/fakecluster/inspect"

// Requests returns the newest requests to the cluster, in the order in which they came: up to
// 10,000, and fewer if their paths, queries and messages take more than 8 MiB. The cluster always
// keeps them. They begin when New or Start returns, so requests that the options make are left out;
// those of a fork begin with the fork. Writes of the cluster's own controllers are included and
// name their Cause.
//
// A request whose client has received its response has a Code.
func (c *Cluster) Requests() []inspect.Request { return c.server.History.Requests() }
