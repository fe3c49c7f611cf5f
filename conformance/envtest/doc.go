// Package envtest runs suites that start envtest's control plane, on the programs of
// `fakecluster envtest`: controller-runtime's own suites, unchanged and with the libraries that
// its go.mod names, and the project in testdata, which is laid out as kubebuilder does.
//
// The suites know nothing of fakecluster. KUBEBUILDER_ASSETS is all that they are told.
package envtest
