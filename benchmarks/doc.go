// Package benchmarks measures fakecluster beside its peers, in one run: the fake
// clients of client-go and of controller-runtime, and envtest where its binaries are,
// in the folder that KUBEBUILDER_ASSETS names.
//
// All do the same with the same CronTab of 446 bytes, one request at a time. The fake
// clients have no HTTP, no schemas and no rules; what they leave out costs them
// nothing.
//
//	go test -bench . -benchtime 1s
package benchmarks
