//go:build !race

package seedtest

// RaceDetector says that the tests run under the race detector.
const RaceDetector = false
