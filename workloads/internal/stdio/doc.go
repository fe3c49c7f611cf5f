// Package stdio has the standard streams of containers: the log of what a container writes, and those who read it, what it reads
// itself ([Input]), and the terminals of clients ([Terminal]).
//
// A [Log] keeps lines as a container runtime does in its files: each with the time and the stream, a line without an end as
// soon as it is long or the container has exited. It is bounded; the oldest lines go first. [Log.Copy] is what kubectl logs
// prints, with the rules of the kubelet, and [Log.Attach] passes on what is written from now on.
//
// # Locks
//
// A Log has one mutex, and an Input has one. It is not held while a reader writes to its client. Readers wait on channels, so that all of this works
// in a testing/synctest bubble.
package stdio
