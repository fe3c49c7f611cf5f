//go:build !race

package seedtest

// RaceDetector reports whether the tests run under the race detector.
const RaceDetector = false
