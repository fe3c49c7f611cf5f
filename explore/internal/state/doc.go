// Package state compares the objects of two clusters that should be equal, whatever has happened in them.
//
// Names that a server generates, uids, addresses, times and counters of the server differ between any two
// clusters. [New] replaces them by what they stand for, wherever they are: the uid of an owner in a
// label reads as the uid of that owner. It leaves out what is not part of a state: Events, Leases,
// managedFields, imagePullPolicy, the addresses, Nodes, container ids and former runs of Pods, and the reason and the message of conditions, which describe how a state was reached.
package state
