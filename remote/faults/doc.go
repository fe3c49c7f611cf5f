// Package faults describes faults that a test injects into a cluster of package remote, with the names of
// package faults of fakecluster: requests that fail, wait or are cut off, watches that break or lag, stale
// reads, writes that admission denies. docs/faults.md describes the effects.
package faults
