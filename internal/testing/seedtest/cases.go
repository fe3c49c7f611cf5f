package seedtest

import (
	"flag"
	"testing"
)

// Cases returns how many cases a random test of one goroutine plays by default: n, or a
// tenth of that with -short, and under the race detector, which takes ten times as long for each, and needs
// only a few to find a race. The default of a flag does not know -short, because flags are not parsed yet.
func Cases(n int) int {
	if RaceDetector || flag.Parsed() && testing.Short() {
		return n / 10
	}
	return n
}
