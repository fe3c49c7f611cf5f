// Package timing has the times of a kubelet: when something that has failed is tried again, and what is due next.
package timing
