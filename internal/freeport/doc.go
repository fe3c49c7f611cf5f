// Package freeport reserves a free port for another process that will listen on it later.
//
// A listener that is opened to learn a port and then closed leaves the port to any other process:
// on a busy machine another process takes it before its name is used.
package freeport
