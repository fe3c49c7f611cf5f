// Package benchmarks measures fakecluster in four ways. From this folder,
//
//	go run ./plot
//
// measures Life and Reconcile, and writes what docs/performance.md shows: results.txt, life.svg,
// life.png and the tables.
//
// # Life
//
// BenchmarkLife measures objects as operators have them, and the floor: what HTTP (or the
// in-process transport) and client-go cost alone. For the floor, the same client calls a
// handler that returns the very bytes that the cluster returned.
//
// The kinds have the definitions that cert-manager, cluster-api, prometheus-operator
// and istio ship, read from the module cache by the go.mod of the conformance suite.
// Their objects have labels, annotations, a finalizer and an owner; a user owns the
// spec, a controller the status, and a third manager has applied a part. They are
// files in testdata/life. Beside them is the small CronTab, as it was created.
//
// Some operations on one kind:
//
//	go test -run '^$' -bench 'Life/Certificate/^update' -benchtime 300x
//
// # Peers
//
// The other benchmarks measure fakecluster, the fake clients of client-go and of
// controller-runtime, and envtest if KUBEBUILDER_ASSETS names the folder with its binaries.
// All do the same with the same CronTab of 446 bytes, one request at a time. The fake
// clients have no HTTP, no schemas and no rules, and take no time for them.
//
//	go test -run '^$' -bench . -skip 'Life|Reconcile|Workloads|Explore'
//
// # Reconcile
//
// BenchmarkReconcile measures one pass of a controller at each peer: it gets a
// Certificate, applies a ConfigMap that the Certificate owns, and updates the status.
//
// # Workloads
//
// BenchmarkWorkloads measures living clusters (package workloads): rollouts, and what idle virtual time takes.
//
// # Explore
//
// BenchmarkExplore measures explorations of the operator in examples/website, without and with living workloads: trials in a second,
// and the processor time of one, which is what to compare on a machine that does other work:
//
//	go test -run '^$' -bench Explore -benchtime 1x
package benchmarks
