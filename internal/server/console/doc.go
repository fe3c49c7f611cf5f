// Package console has what a test can do with a cluster and a client cannot: read past states of objects, findings and
// the page of a report, wait until everything is at rest, inject faults and hold watch events.
//
// Its functions read the parts of a server.Cluster, above all its history. They are not used to serve requests, except
// that package rest adds the intervening writes of others to the explanation of a write.
package console
