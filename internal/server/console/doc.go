// Package console answers the questions of a test about a cluster, and does to it what no client could: past states of
// objects, findings and the page of a report, whether everything is at rest, faults and held watch events.
//
// Its functions read the parts of a server.Cluster, above all its history. No request of a client passes them, except that
// package rest explains a write with what others have written meanwhile.
package console
