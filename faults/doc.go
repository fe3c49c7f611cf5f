// Package faults describes faults that a test injects into a cluster: requests that fail, wait or are cut
// off, watches that break or lag, stale reads, writes that admission denies, webhooks that cannot be reached.
// It also has the interface [Hold], with which a test delivers watch events one by one.
//
// A [Fault] selects requests, sets how often it strikes them, and what its [Effect] is. Cluster.Inject of
// package fakecluster puts it in force, and returns an [Injection] that counts the requests that it struck:
//
//	lost := c.Inject(faults.Fault{
//		Verb: "update", Resource: "crontabs.stable.example.com", Subresource: "status",
//		Times: 1, Effect: faults.CutAfterCommit(),
//	})
//
// The package has plain types and needs no cluster.
package faults
