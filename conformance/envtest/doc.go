// Package envtest runs suites that start envtest's control plane, on the programs of
// `fakecluster envtest`: controller-runtime's own suites, unchanged and with the libraries that
// its go.mod names, and the project in testdata, which is laid out as kubebuilder does.
//
// The suites do not depend on fakecluster. They get KUBEBUILDER_ASSETS and nothing else.
package envtest
