// Code generated from explore/result.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package explore

// Result is what an exploration has found.
type Result struct {
	// Runs is the number of runs. Points is the number of points at which a fault could strike, and
	// Pruned the number of further points that were left out because a fault there makes no
	// difference.
	Runs, Points, Pruned int
	// More is true if the bound of runs was reached before all schedules were tried.
	More bool
	// Failure is the first run that failed, or nil.
	Failure *Failure
}

// Failure is a run in which the test failed.
type Failure struct {
	// Schedule is the argument of [Replay] that repeats the run.
	Schedule string
	// Explanation describes what went wrong, a line for each fault. It is empty if the test fails
	// without faults.
	Explanation string
	// Log is the output of the test.
	Log string
}
