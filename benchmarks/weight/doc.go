// Command weight measures what a test with fakecluster costs before it runs: the packages that are
// compiled, the processor time for that from an empty cache, the link, the test binary, and the time
// from an edit to the result. It measures tests of the same operator in five folders: alone has no API server and
// controller-runtime's fake client, remote a cluster in another process, bubble the same in virtual time, envtest real programs, and fakecluster a cluster in the
// process of the test.
//
//	go run ./weight         # in the folder benchmarks; a minute or two
//	go run ./weight -cold   # compiles from an empty cache, too, which takes many minutes
//
// The test with envtest runs if KUBEBUILDER_ASSETS names the folder with envtest's binaries. Without
// them, the time from an edit to the result is that of a test that is skipped.
package main
