// Package memorytest has the clusters of a test binary prove that nothing alters the
// decoded objects that they keep:
//
//	func TestMain(m *testing.M) {
//		memorytest.Verify()
//		os.Exit(m.Run())
//	}
package memorytest

import (
	"flag"
	"os"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Verify has each resource.Memory that is made from now on verify each answer. A
// request that meets an altered object fails. Benchmarks are left alone, because to
// verify takes longer than to decode.
func Verify() {
	flag.Parse()
	if bench := flag.Lookup("test.bench"); bench != nil && bench.Value.String() != "" {
		return
	}
	_ = os.Setenv(resource.VerifyMemory, "1") // it fails only for names that cannot be
}
