// Package shell has small programs for containers without the file system of an image: cat, ls, sh -c and more, on the
// files of the container. With them, probes, hooks and scripts of common charts work.
//
// A [Shell] runs the programs. sh runs POSIX scripts, with common extensions of bash, by the parser and the expansion of
// mvdan.cc/sh. The interpreter is this package's own, because that of mvdan.cc/sh connects commands by pipes of the
// operating system, which do not block durably in a bubble, looks for directories and programs in the file system of the
// machine, and has no trap for SIGTERM. Unsupported syntax, such as arrays, is an error with exit code 2 before any
// command runs, so a script never runs half.
//
// Commands of a pipe and in the background are goroutines, which end with their command of [Shell.Run]. Sleeps are
// timers, and all waits block durably, so scripts work in a testing/synctest bubble.
package shell
