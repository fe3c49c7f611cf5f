// Command weight measures what a test with fakecluster costs before it runs: the packages that are
// compiled, the processor time for that from an empty cache, the link, the test binary, and the time
// from an edit to the result. Next to it, it measures the same test with envtest: packages fakecluster
// and envtest in this folder run the same operator, and differ in how the API server starts.
//
//	go run ./weight         # in the folder benchmarks; a minute or two
//	go run ./weight -cold   # compiles from an empty cache, too, which takes many minutes
//
// The test with envtest runs if KUBEBUILDER_ASSETS names the folder with envtest's binaries. Without
// them, the time from an edit to the result is that of a test that is skipped.
package main
