package seedtest

// Cases is how many cases a random test of one goroutine plays by default: n, or a tenth of
// them under the race detector, which takes ten times as long for each and finds in them
// what it finds in a few.
func Cases(n int) int {
	if raceDetector {
		return n / 10
	}
	return n
}
