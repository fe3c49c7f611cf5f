// Package faults describes what goes wrong on purpose in a cluster: requests that fail, wait or are
// cut off, watches that break or lag, reads that are stale, refusals of admission, webhooks that
// cannot be reached. It also has the interface of a [Hold], by which a test delivers watch events
// one by one.
//
// A [Fault] says which requests it strikes, how often, and with what [Effect]. Cluster.Inject of
// package fakecluster puts it in force, and returns an [Injection] that counts what it struck:
//
//	lost := c.Inject(faults.Fault{
//		Verb: "update", Resource: "crontabs.stable.example.com", Subresource: "status",
//		Times: 1, Effect: faults.CutAfterCommit(),
//	})
//
// The package has plain types and needs no cluster.
package faults
