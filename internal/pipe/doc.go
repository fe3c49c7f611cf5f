// Package pipe has in-memory connections, which work in a testing/synctest bubble, where sockets do not.
//
// A [Conn] behaves as a TCP connection on Linux, with the errors of package net. Unlike net.Pipe it buffers writes, up
// to 64 KiB in each direction, because TLS writes when it closes a connection, and the peer may not read any more.
//
// # Locks
//
// Each direction has a mutex. It is not held while anything waits, and no other lock is taken.
package pipe
