// Code generated from internal/bubble/drive.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package bubble

import "sync"

// driven has the bubbles whose time something outside advances.
var driven struct {
	mu      sync.Mutex
	bubbles map[string]bool
}

// Drive declares that something outside of the caller's bubble advances its time, until stop is called. Time that stands
// still is then not a mistake, so the bubble is not watched, and its clusters have no sockets. Outside of a bubble,
// Drive does nothing.
func Drive() (stop func()) {
	number := current()
	if number == "" {
		return func() {}
	}
	driven.mu.Lock()
	defer driven.mu.Unlock()
	if driven.bubbles == nil {
		driven.bubbles = map[string]bool{}
	}
	driven.bubbles[number] = true
	return func() {
		driven.mu.Lock()
		defer driven.mu.Unlock()
		delete(driven.bubbles, number)
	}
}

// Driven reports whether the caller runs in a bubble of [Drive].
func Driven() bool {
	number := current()
	driven.mu.Lock()
	defer driven.mu.Unlock()
	return number != "" && driven.bubbles[number]
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
