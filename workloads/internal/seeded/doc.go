// Package seeded has pseudo-random values of a living cluster, durations and digests, which depend only on a seed and
// names. The same names give the same values in each run, in any order of goroutines.
package seeded
