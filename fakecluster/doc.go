// Package fakecluster is a Kubernetes API server for Go tests, in the test's own
// process: real HTTP, real validation, real watches, in milliseconds.
//
//	func TestMyOperator(t *testing.T) {
//		c := fakecluster.Start(t, fakecluster.WithCRDPaths("config/crd"))
//		client, err := dynamic.NewForConfig(c.RESTConfig())
//		...
//	}
//
// Start is for tests: the cluster ends with the test, and what goes wrong fails
// it. New is for everything else.
//
// A cluster is done with a write when the write returns: a
// CustomResourceDefinition is established and served, a deleted namespace is
// empty, the dependents of a deleted object are gone with it. There is nothing to
// wait for.
//
// Any number of clusters can run side by side; they share nothing that changes.
// All methods of a Cluster are safe for concurrent use.
package fakecluster
