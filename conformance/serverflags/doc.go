// Package serverflags holds the table of flags in fakecluster's internal/serverflags to the command
// line of the real kube-apiserver. It has tests only.
package serverflags
