// Code generated from internal/bubble/others.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package bubble

import (
	"slices"
	"strings"
)

const (
	// othersPeriod is the number of checks from one look at the bubbles that nobody watches to the next.
	othersPeriod = 5
	// otherChecks is the number of consecutive checks that must find the same goroutine in such a bubble.
	otherChecks = 10
)

// otherBubbles finds bubbles that nobody watches.
type otherBubbles struct {
	blocked []*func(Blocked)
	checks  int
}

// WatchOthers looks at the bubbles that nobody watches, until stop is called. It calls blocked, outside of bubbles, if
// the time of one stands still for ten checks because an HTTP client in it has a connection. It is for a cluster with a
// socket outside of bubbles, which does not learn in which bubbles its clients are. Whatever else such a bubble waits
// for is not reported. WatchOthers reads stacks at every fifth check, and at each one after it has found such a client.
func WatchOthers(blocked func(Blocked)) (stop func()) {
	watched.mu.Lock()
	defer watched.mu.Unlock()
	watched.others.blocked = append(watched.others.blocked, &blocked)
	return func() {
		watched.mu.Lock()
		defer watched.mu.Unlock()
		others := &watched.others
		others.blocked = slices.DeleteFunc(others.blocked, func(other *func(Blocked)) bool { return other == &blocked })
		if len(others.blocked) == 0 {
			watched.bubbles = slices.DeleteFunc(watched.bubbles, func(w *watch) bool { return w.other })
		}
	}
}

// due reports whether it is time to look.
func (o *otherBubbles) due() bool {
	if len(o.blocked) == 0 {
		return false
	}
	o.checks++
	return o.checks%othersPeriod == 0
}

// addOthers watches the bubbles that nobody watches, and whose time an HTTP client stops.
func (ws *watches) addOthers(text string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.others.blocked) == 0 || !strings.Contains(text, ", synctest bubble ") {
		return
	}
	for _, stack := range strings.Split(text, "\n\n") {
		header := goroutineHeader.FindStringSubmatch(stack)
		if header == nil || !clientConnection(stack) || slices.ContainsFunc(ws.bubbles, func(w *watch) bool { return w.bubble == header[3] }) {
			continue
		}
		if found := blockedOutside(text, header[3]); clientConnection(found.Stack) {
			ws.bubbles = append(ws.bubbles, &watch{bubble: header[3], blocked: *ws.others.blocked[0], last: found, other: true})
		}
	}
}

// clientConnection reports whether a goroutine reads the connection of an HTTP client.
func clientConnection(stack string) bool {
	return strings.Contains(stack, "net/http.(*persistConn)") || strings.Contains(stack, "http2.(*ClientConn)") || strings.Contains(stack, "http2ClientConn)")
}
