// Package shell runs small programs in containers that do not have a file system of their own: cat, ls, sh -c and a few more, over
// the files that the container sees. With them, probes, hooks and scripts of common charts work.
//
// A [Shell] has the programs. sh runs scripts whose grammar and expansion are those of mvdan.cc/sh, as a shell of POSIX and with what scripts for bash often
// have. The interpreter is this package's: that of mvdan.cc/sh connects commands by pipes of the operating system, which are not durable in a bubble, asks
// the file system of the machine for directories and programs, and does not have a trap for SIGTERM. What is not there, such as arrays, is an error that
// names it, with exit code 2: a script never does half of what it says.
//
// Commands of a pipe and in the background are goroutines, which end with the command of [Shell.Run] that has begun them. Time passes by timers, and all waits
// are durable, so that scripts work in a testing/synctest bubble.
package shell
