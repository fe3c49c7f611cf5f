// Package bubble reports whether code runs in a testing/synctest bubble, and checks bubbles from outside.
//
// In a bubble, time passes only when all goroutines of the bubble wait for each other. A goroutine that waits for
// something outside, such as a socket, stops it, and with it the test: go test times out ten minutes later, with
// the stacks of all goroutines. A check inside the bubble cannot find that, because all timers there are virtual,
// and a goroutine that a bubble starts belongs to the bubble.
//
// So a timer of the process checks the bubbles that are watched ([Watch]) every second of real time. It is started
// when a test binary starts, outside of all bubbles, and renews itself: there is no goroutine between two checks.
// A check reads the stacks of all goroutines, but only if a watched bubble exists since the check before
// and has done nothing meanwhile. While a cluster with a socket is open, every fifth check reads them, too
// ([WatchOthers]).
//
// # Locks
//
// One mutex guards the list of watched bubbles. It is not held while a stack is read or a function is called.
package bubble
