// Package shell runs small programs in containers that do not have a file system of their own: cat, ls, sh -c and a few more, over
// the files that the container sees. With them, probes, hooks and scripts of common charts work.
//
// A [Shell] has the programs. sh understands lists with ;, &&, || and |, redirection, quotes and variables. Everything else of
// a shell's language, such as if and $(command), is an error that names it, with exit code 2: a script never does half of what it says.
//
// Time passes by timers, so that sleep works in a testing/synctest bubble. There are no goroutines.
package shell
