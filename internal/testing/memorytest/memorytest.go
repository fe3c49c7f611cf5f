// Package memorytest makes the servers of tests check that nothing alters the decoded
// objects that they keep. Tests that start servers enable it for all of them:
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

// Variable is the environment variable that makes servers verify what they keep.
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

// Verify makes each server that starts from now on verify what it keeps, if that is wanted. A request that meets an altered object fails.
func Verify() {
	if Wanted() {
		_ = os.Setenv(Variable, "1") // it fails only for names that cannot be
	}
}
