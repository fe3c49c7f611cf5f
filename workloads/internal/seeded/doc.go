// Package seeded has values of a living cluster that look random and follow from a seed and from names: durations and digests. The same
// names lead to the same values in each run, whatever the order of goroutines.
package seeded
