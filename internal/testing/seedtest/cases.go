package seedtest

// Cases returns how many cases a random test of one goroutine plays by default: n, or a
// tenth of that under the race detector, which takes ten times as long for each, and needs
// only a few to find a race.
func Cases(n int) int {
	if RaceDetector {
		return n / 10
	}
	return n
}
