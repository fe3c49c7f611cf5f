// Package freeport finds a port that somebody else will listen on later.
//
// A listener that is opened to learn a port and then closed leaves the port to the first who asks:
// on a busy machine another process takes it before its name is used.
package freeport
