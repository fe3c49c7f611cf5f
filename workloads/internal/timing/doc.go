// Package timing has the times of a kubelet: retries after failures, and the next due time.
package timing
