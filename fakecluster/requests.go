package fakecluster

import "github.com/fakecluster/fakecluster/inspect"

// Requests returns the newest requests to the cluster, in the order in which they came: up to
// 10,000, and fewer if their paths, queries and messages take more than 8 MiB. The cluster always
// keeps them. They are the requests since New or Start has returned, so those that the options
// made are not among them, and those of a fork begin with the fork. The writes of the cluster's own
// controllers are among them and name their Cause.
//
// A client that has an answer finds the Code of its request here.
func (c *Cluster) Requests() []inspect.Request { return c.server.Requests() }
