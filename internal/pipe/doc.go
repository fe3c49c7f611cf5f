// Package pipe has connections through memory, which work in a testing/synctest bubble, where sockets do not.
//
// A [Conn] has the rules of a TCP connection of Linux, and the errors of package net. Unlike net.Pipe it stores
// what is written until it is read: when TLS closes a connection, it still writes to a peer that may not read any more.
// A writer that is too far ahead waits: each direction holds 64 KiB.
//
// # Locks
//
// Each direction has a mutex. It is not held while anything waits, and no other lock is taken.
package pipe
