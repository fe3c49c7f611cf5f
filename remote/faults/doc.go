// Package faults describes what goes wrong on purpose in a cluster of package remote, with the names of package faults of fakecluster:
// requests that fail, wait or are cut off, watches that break or lag, stale reads, refusals of admission. docs/faults.md describes
// the effects.
package faults
