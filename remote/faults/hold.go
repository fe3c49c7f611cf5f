package faults

// Hold keeps the events of all watches back, so that a test decides which client gets which event, and when.
type Hold interface {
	// Pending returns what is held back, in the order of the changes.
	Pending() []Delivery
	// Wait is Pending, and waits until something is held back.
	Wait() []Delivery
	// Deliver delivers the first n of Pending, and returns how many that were.
	Deliver(n int) int
	// DeliverThese delivers events of Pending, each together with those that come before it in its watch.
	DeliverThese(events ...Delivery) int
	// DeliverKind delivers all that Pending has of a resource, such as "pods" or "deployments.apps".
	DeliverKind(resource string) int
	// DeliverTo delivers all that Pending has for watches whose user agent begins with a text.
	DeliverTo(userAgent string) int
	// Release delivers everything that is held back, and ends the Hold.
	Release()
}

// Delivery is an event that is held back from one watch.
type Delivery struct {
	// Resource, User and UserAgent are those of the watch, and Watch is its number.
	Resource  string `json:"resource"`
	User      string `json:"user"`
	UserAgent string `json:"userAgent,omitempty"`
	Watch     int64  `json:"watch"`
	// Type, Namespace and Name are those of the event.
	Type      string `json:"type"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Revision is that of the change.
	Revision int64 `json:"revision"`
	// Text is a short form, such as "ADDED pods default/a to kubelet".
	Text string `json:"text,omitempty"`
}

// String returns the short form.
func (d Delivery) String() string { return d.Text }
