// Package remote plays scenarios on a cluster that runs outside of this process. Each scenario sees a view: its
// namespaces and API groups have a prefix in the cluster, which requests get and answers lose. A write that may change
// anything else is rejected, and what a scenario creates is deleted when it ends. After a write the view waits until the
// server acts on it, so that the next request gets the same answer as in a cluster in this process.
package remote
