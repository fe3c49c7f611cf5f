// Package memorytest has the clusters of tests prove that nothing alters the decoded
// objects that they keep. Tests that make servers enable it by an option, which is
// [Wanted]. Tests that start clusters by package fakecluster set it for all of them:
//
//	func TestMain(m *testing.M) {
//		memorytest.Verify()
//		os.Exit(m.Run())
//	}
package memorytest

import (
	"flag"
	"os"
)

// Variable is the environment variable that makes package fakecluster have its
// clusters verify what they keep.
const Variable = "FAKECLUSTER_VERIFY_MEMORY"

// Wanted reports whether the memories of a test are to verify each answer. Those of
// benchmarks are not, because to verify takes longer than to decode.
func Wanted() bool {
	if !flag.Parsed() { // in TestMain, before other goroutines; tests find the flags parsed
		flag.Parse()
	}
	bench := flag.Lookup("test.bench")
	return bench == nil || bench.Value.String() == ""
}

// Verify has each cluster that package fakecluster makes from now on verify what it keeps,
// if that is wanted. A request that meets an altered object fails.
func Verify() {
	if Wanted() {
		_ = os.Setenv(Variable, "1") // it fails only for names that cannot be
	}
}
