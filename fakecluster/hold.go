package fakecluster

import (
	"errors"
	"fmt"
	"strings"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/rest"
)

// Hold keeps the events of all watches back, so that a test says which client learns what, and when.
// [Cluster.Hold] begins it and Release ends it.
//
// What a watch begins with is not kept back: the objects that are there, as after a list. Bookmarks
// never tell of more than the client has seen. A client whose watch ends finds in its next watch what
// it has missed, and that is held back again. A watch that ends because the definition of its resource
// changes ends when the events from before have been delivered.
type Hold struct {
	cluster *Cluster
	hold    *faultinjection.Hold // nil: there was another one
	ticks   int
}

// Delivery is an event that is held back from one watch.
type Delivery struct {
	// Resource, User and UserAgent are those of the watch.
	Resource        schema.GroupResource
	User, UserAgent string
	// Type, Namespace and Name say what the event tells of.
	Type            watch.EventType
	Namespace, Name string
	// Revision is that of the change.
	Revision int64

	of faultinjection.Delivery
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

// Hold begins to keep watch events back, also those of watches that begin later. There is one Hold at
// a time: a second one fails the test, and in a cluster of [New] it is an error of Close. A fork has no
// Hold.
func (c *Cluster) Hold() *Hold {
	if c.test != nil {
		c.test.Helper()
	}
	h, err := rest.FaultsOf(c.server).Hold()
	if err != nil {
		c.blame(err)
	}
	return &Hold{cluster: c, hold: h}
}

// Release delivers everything that is held back, and ends the Hold. Releasing again does nothing.
func (h *Hold) Release() {
	if h.hold != nil {
		h.hold.Release()
	}
}

// Pending returns what is held back: in the order of the changes, and of one change in the order in
// which the watches began. It waits for a conversion webhook that is asked how a watch shows an event. So
// the webhook must not call Pending, or what calls it, while it converts: it would wait for itself until its
// call times out, after 30 s.
func (h *Hold) Pending() []Delivery {
	if h.hold == nil {
		return nil
	}
	var all []Delivery
	for _, d := range h.hold.Pending() {
		all = append(all, Delivery{
			Resource: d.Resource(), User: d.Request.User, UserAgent: d.Request.UserAgent,
			Type: watch.EventType(d.Shown.Type), Namespace: d.Shown.Namespace, Name: d.Shown.Name, Revision: d.Revision, of: d,
		})
	}
	return all
}

// More returns a channel that gets a value when events are held back that were not before, so that
// nobody has to ask Pending again and again. It is never closed.
func (h *Hold) More() <-chan struct{} {
	if h.hold == nil {
		return nil
	}
	return h.hold.More()
}

// Deliver delivers the first n of Pending, and returns how many that were. It does not wait until the
// clients have read them; in a testing/synctest bubble, synctest.Wait does.
func (h *Hold) Deliver(n int) int {
	all := h.Pending()
	return h.deliver(all[:max(0, min(n, len(all)))])
}

// DeliverThese delivers events of Pending, each together with those that come before it in its watch,
// because a watch keeps its order. It returns how many it has delivered.
func (h *Hold) DeliverThese(events ...Delivery) int { return h.deliver(events) }

// DeliverKind delivers all that Pending has of a resource, such as "pods" or "deployments.apps", and
// returns how many events that were. A resource that the cluster does not serve fails the test.
func (h *Hold) DeliverKind(resource string) int {
	of := schema.ParseGroupResource(resource)
	if err := rest.FaultsOf(h.cluster.server).Knows(of, "", "watch"); err != nil {
		if h.cluster.test != nil {
			h.cluster.test.Helper()
		}
		h.cluster.blame(fmt.Errorf("DeliverKind: %w", err))
		return 0
	}
	return h.deliverIf(func(d Delivery) bool { return d.Resource == of })
}

// DeliverTo delivers all that Pending has for watches whose user agent begins with a text, and returns
// how many events that were.
func (h *Hold) DeliverTo(userAgent string) int {
	return h.deliverIf(func(d Delivery) bool { return strings.HasPrefix(d.UserAgent, userAgent) })
}

func (h *Hold) deliverIf(picks func(Delivery) bool) int {
	var picked []Delivery
	for _, d := range h.Pending() {
		if picks(d) {
			picked = append(picked, d)
		}
	}
	return h.deliver(picked)
}

func (h *Hold) deliver(events []Delivery) (n int) {
	if h.hold == nil {
		return 0
	}
	for _, d := range events {
		n += h.hold.Deliver(d.of)
	}
	return n
}

// errNoBubble is the error of a tick outside of a bubble, where its end is not known.
var errNoBubble = errors.New("Tick works in a testing/synctest bubble only: elsewhere nobody knows when the clients have nothing left to do; use Deliver")

// Tick waits until nothing moves, delivers everything that is held back, and waits until nothing moves
// again. Nothing moves when every goroutine of the testing/synctest bubble waits; time does not pass
// meanwhile, so a client that waits for a moment does not go on. Tick returns how many events it has
// delivered. Outside of a bubble it fails the test.
func (h *Hold) Tick() int {
	if !bubble.Inside() {
		if h.cluster.test != nil {
			h.cluster.test.Helper()
		}
		h.cluster.blame(errNoBubble)
		return 0
	}
	synctest.Wait()
	n := h.deliver(h.Pending())
	synctest.Wait()
	if n > 0 {
		h.ticks++
	}
	return n
}

// Ticks returns how many ticks have delivered something.
func (h *Hold) Ticks() int { return h.ticks }

// Settle ticks until nothing is held back, and returns how many ticks that took. If there is still
// something after the given number, it fails the test: the clients answer each event with another
// change.
func (h *Hold) Settle(most int) int {
	for n := range most + 1 {
		if h.Tick() == 0 {
			return n
		}
	}
	if h.cluster.test != nil {
		h.cluster.test.Helper()
	}
	var left []string
	for _, d := range h.Pending() {
		left = append(left, d.String())
	}
	h.cluster.blame(fmt.Errorf("nothing has settled after %d ticks; held back: %s", most, strings.Join(left, ", ")))
	return most + 1
}
