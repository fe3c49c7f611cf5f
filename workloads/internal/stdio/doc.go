// Package stdio has the standard streams of containers: the log of its output ([Log]), its input ([Input]), and the
// terminals of clients ([Terminal]).
//
// A [Log] keeps lines as a container runtime does in its files: each with the time and the stream. A line without an end
// is added when it is long or the container has exited. The log is bounded; it drops the oldest lines first. [Log.Copy]
// writes the output of kubectl logs, by the rules of the kubelet, and [Log.Attach] copies further output.
//
// # Locks
//
// A Log has one mutex, and an Input has one. It is not held while a reader writes to its client. Readers wait for
// channels, so all of this works in a testing/synctest bubble.
package stdio
