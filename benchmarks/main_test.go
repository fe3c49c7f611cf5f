package benchmarks

import (
	"os"
	"testing"

	clientrest "k8s.io/client-go/rest"
)

// TestMain keeps the clients from printing the warnings that they get, for instance of
// a finalizer without a slash, such as cluster-api's: to print them is not part of what
// is measured.
func TestMain(m *testing.M) {
	clientrest.SetDefaultWarningHandler(clientrest.NoWarnings{})
	os.Exit(m.Run())
}
