package history

import "github.com/fakecluster/fakecluster/inspect"

// State is the current activity in a cluster.
type State struct {
	// Begun is the number of requests that have begun, and Revision the newest revision of a request.
	Begun, Revision int64
	// Moved is Begun without heartbeats: writes of the Leases of nodes.
	Moved int64
	// MovedTo is Revision without heartbeats.
	MovedTo int64
	// Active are the requests whose response has not ended, without heartbeats, and without watches whose response has
	// begun.
	Active []inspect.Request
	// Watches are the running watches.
	Watches []Watch
}

// isHeartbeat reports whether a request renews the Lease of a node.
func isHeartbeat(q *inspect.Request) bool {
	return q.Resource == "leases" && q.Namespace == "kube-node-lease" && (q.Verb == "patch" || q.Verb == "update")
}

// Watch is a running watch.
type Watch struct {
	inspect.Request
	Reached int64 // the revision up to which it has delivered everything; 0: no value yet
}

// State returns the current activity, and a channel that is closed by the next change.
func (r *Recorder) State() (State, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wakes == nil {
		r.wakes = make(chan struct{})
	}
	s := State{Begun: r.number, Revision: r.newest, Moved: r.moved, MovedTo: r.movedTo}
	for e := r.running; e != nil; e = e.next {
		if isHeartbeat(&e.request) {
			continue
		}
		if e.streams {
			s.Watches = append(s.Watches, Watch{e.request, e.reached})
		} else {
			s.Active = append(s.Active, e.request)
		}
	}
	return s, r.wakes
}

// wake wakes the waiting goroutines after a change.
func (r *Recorder) wake() {
	if r.wakes != nil {
		close(r.wakes)
		r.wakes = nil
	}
}

// Reached records that a watch has delivered everything up to a revision.
func (e *Entry) Reached(revision int64) {
	if e == nil {
		return
	}
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	if e.reached != revision {
		e.reached = revision
		e.recorder.wake()
	}
}
