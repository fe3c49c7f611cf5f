package faults

// Hold holds back the events of all watches, so that a test decides which client gets which event, and when.
// Cluster.Hold begins it and Release ends it. Its methods are safe for concurrent use, and fail the test if
// they are used wrongly.
type Hold interface {
	// Pending returns the events that are held back, in the order of the changes.
	Pending() []Delivery
	// Wait waits until an event is held back, and returns Pending.
	Wait() []Delivery
	// Deliver delivers the first n events of Pending, or all if there are fewer, and returns their number.
	Deliver(n int) int
	// DeliverThese delivers events of Pending, each with all earlier events of its watch, because a watch
	// keeps its order. It returns how many events it has delivered.
	DeliverThese(events ...Delivery) int
	// DeliverKind delivers all pending events of a resource, such as "pods" or "deployments.apps", and
	// returns their number.
	DeliverKind(resource string) int
	// DeliverTo delivers all pending events of watches whose user agent has the given prefix, and returns
	// their number.
	DeliverTo(userAgent string) int
	// Release delivers all events that are held back, and ends the Hold.
	Release()
}

// Delivery is an event that is held back from one watch.
type Delivery struct {
	// Resource, User and UserAgent are those of the watch. Watch is its number: watches are numbered as they
	// begin.
	Resource  string `json:"resource"`
	User      string `json:"user"`
	UserAgent string `json:"userAgent,omitempty"`
	Watch     int64  `json:"watch"`
	// Type, Namespace and Name are those of the event.
	Type      string `json:"type"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Revision is the revision of the change.
	Revision int64 `json:"revision"`
	// Text is a short form, such as "ADDED pods default/a to kubelet".
	Text string `json:"text,omitempty"`
}

// String returns Text.
func (d Delivery) String() string { return d.Text }
