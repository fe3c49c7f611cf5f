package faults

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/internal/printable"
)

// Hold holds back the events of all watches, so that a test decides which client gets which event, and when.
// Cluster.Hold begins it and Release ends it. Its methods are safe for concurrent use.
//
// The initial objects of a watch are not held back, and neither are lists. Bookmarks never name a revision
// beyond what the client has seen. If a watch ends while events are held back, the client's next watch gets
// these events, and they are held back again. A watch whose CustomResourceDefinition changes ends after the
// events from before the change have been delivered.
//
// Its methods fail the test if they are used wrongly. In a cluster of fakecluster.New, which does not
// have a test, Close returns the error instead.
type Hold interface {
	// Pending returns the events that are held back, in the order of the changes. The events of one
	// change are in the order in which their watches began. Pending waits while a conversion
	// webhook converts the object of an event. So the webhook must not call Pending, or a method
	// that calls it: it would wait for itself until its call times out, after 30 s.
	Pending() []Delivery
	// More returns a channel that gets a value when further events are held back, so that a test
	// need not poll Pending. It is never closed.
	More() <-chan struct{}

	// Deliver delivers the first n events of Pending, or all if there are fewer, and returns their
	// number. It does not wait until the clients have read them; in a testing/synctest bubble,
	// synctest.Wait does.
	Deliver(n int) int
	// DeliverThese delivers events of Pending, each with all earlier events of its watch, because a watch
	// keeps its order. It returns how many events it has delivered.
	DeliverThese(events ...Delivery) int
	// DeliverKind delivers all pending events of a resource, such as "pods" or "deployments.apps",
	// and returns their number. A resource that the cluster does not serve fails the test.
	DeliverKind(resource string) int
	// DeliverTo delivers all pending events of watches whose user agent has the given prefix, and
	// returns their number.
	DeliverTo(userAgent string) int

	// Tick calls synctest.Wait, delivers all events that are held back, calls synctest.Wait again, and
	// returns how many events it has delivered. synctest.Wait returns when every goroutine of the bubble is
	// blocked. Time does not pass in it, so a client that sleeps does not continue. Outside of a bubble Tick
	// fails the test.
	Tick() int
	// Ticks returns how many calls of Tick have delivered at least one event.
	Ticks() int
	// Drain calls Tick until no events are held back, and returns the number of calls. If events are still
	// held back after this many calls, Drain fails the test: the clients answer each event with another
	// change.
	Drain(most int) int

	// Release delivers all events that are held back, and ends the Hold. Further calls do nothing.
	Release()
}

// Delivery is an event that is held back from one watch.
type Delivery struct {
	// Resource, User and UserAgent are those of the watch. Watch is its number: watches are
	// numbered as they begin.
	Resource        schema.GroupResource
	User, UserAgent string
	Watch           int64
	// Type, Namespace and Name are those of the event.
	Type            watch.EventType
	Namespace, Name string
	// Revision is the revision of the change.
	Revision int64
}

// String is a short form, such as "ADDED pods default/a to kubelet".
func (d Delivery) String() string {
	name := d.Name
	if d.Namespace != "" {
		name = d.Namespace + "/" + d.Name
	}
	agent, _, _ := strings.Cut(d.UserAgent, "/")
	return printable.Text(fmt.Sprintf("%s %s %s to %s", d.Type, d.Resource, name, agent))
}
