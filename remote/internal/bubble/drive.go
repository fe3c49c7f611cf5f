// Code generated from internal/bubble/drive.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package bubble

import "sync"

// Driver passes the mistakes of a test in another process on to that process. Its functions are called in the bubble.
type Driver struct {
	Fail func(mistake string) // fails the test, which goes on; nil: a cluster returns the mistake from Close
	End  func(mistake string) // ends the process of the test, as a panic does
}

// driven has the bubbles whose time something outside advances.
var driven struct {
	mu      sync.Mutex
	bubbles map[string]Driver
}

// Drive declares that something outside of the caller's bubble advances its time, until stop is called. Time that stands
// still is then not a mistake, so the bubble is not watched, and its clusters have no sockets. A mistake of the test is
// for d: this process may serve other tests, too. Outside of a bubble, Drive does nothing.
func Drive(d Driver) (stop func()) {
	number := current()
	if number == "" {
		return func() {}
	}
	driven.mu.Lock()
	defer driven.mu.Unlock()
	if driven.bubbles == nil {
		driven.bubbles = map[string]Driver{}
	}
	driven.bubbles[number] = d
	return func() {
		driven.mu.Lock()
		defer driven.mu.Unlock()
		delete(driven.bubbles, number)
	}
}

// Driven reports whether the caller runs in a bubble of [Drive].
func Driven() bool {
	_, ok := CurrentDriver()
	return ok
}

// CurrentDriver returns the driver of the caller's bubble, and whether there is one.
func CurrentDriver() (d Driver, ok bool) {
	number := current()
	driven.mu.Lock()
	defer driven.mu.Unlock()
	d, ok = driven.bubbles[number]
	return d, ok
}

// Number returns the number of the caller's bubble. It is empty outside of bubbles.
func Number() string { return current() }

// current returns the number of the caller's bubble. It is empty outside of bubbles, and if the format of stacks has
// changed.
func current() string {
	if !Inside() {
		return ""
	}
	header := goroutineHeader.FindStringSubmatch(stacks(false))
	if header == nil {
		return ""
	}
	return header[3]
}
