// Command plot measures fakecluster, and writes what docs/performance.md shows of it. From the
// folder benchmarks:
//
//	go run ./plot                      # measures, for some minutes, and writes everything
//	go run ./plot -from results.txt    # writes everything again from an earlier run
//
// It writes the output of go test to results.txt, the plot to life.svg and life.png, and
// the tables to docs/performance.md, between two markers, with the day and the commit. It prints the same tables, and for each
// row of the budget which kinds keep it.
package main
