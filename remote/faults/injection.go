// Code generated from faults/injection.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package faults

// Injection is a fault in force. Cluster.Inject returns it. It is safe for concurrent use.
type Injection interface {
	// Fault returns the fault.
	Fault() Fault
	// Err returns the reason why the fault could not be injected, or nil if it was. In a cluster of
	// fakecluster.Start, such an error has failed the test already.
	Err() error
	// Fired returns how many requests, watches or calls the fault has struck until now.
	Fired() int
	// Stop ends the fault. A request that is waiting for its Latency continues to wait. A fault that has
	// never struck fails the test even after Stop, unless it is Optional. Further calls do nothing.
	Stop()
}
