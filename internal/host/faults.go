package host

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/faults"
)

// Fault is a fault as in package faults.
type Fault struct {
	Verb        string           `json:"verb,omitempty" doc:"get, list, watch, create, update, patch, delete or deletecollection; default: every verb that the effect can strike"`
	Resource    string           `json:"resource,omitempty" doc:"such as pods or deployments.apps; default: every resource"`
	Subresource string           `json:"subresource,omitempty" doc:"such as status; * is the object and its subresources; default: the object itself"`
	Namespace   string           `json:"namespace,omitempty" doc:"that of the request; default: any"`
	Name        string           `json:"name,omitempty" doc:"that of the object; default: any"`
	User        string           `json:"user,omitempty" doc:"the user who sends the request; default: any"`
	UserAgent   string           `json:"userAgent,omitempty" doc:"a prefix of the user agent; default: any"`
	AuditID     string           `json:"auditID,omitempty" doc:"the header Audit-ID of the request; default: any"`
	After       int              `json:"after,omitempty" doc:"the number of matching requests to skip first"`
	Times       int              `json:"times,omitempty" doc:"the maximum number of requests to strike; default: all"`
	Probability float64          `json:"probability,omitempty" doc:"the probability with which the fault strikes a matching request; default: 1"`
	Optional    bool             `json:"optional,omitempty" doc:"the fault need not strike; any other fault that has never struck is an error at the end of the cluster"`
	Latency     *metav1.Duration `json:"latency,omitempty" doc:"how long a request waits before anything else happens to it, such as 200ms"`
	Effect      Effect           `json:"effect,omitzero" doc:"what happens to the request after the latency; default: it is served"`
}

// Effect is an effect as in package faults.
type Effect struct {
	Type     string           `json:"type" doc:"such as Conflict, Fail, CutAfterCommit, StaleRead: docs/faults.md describes all of them"`
	Status   *metav1.Status   `json:"status,omitempty" schema:"object" doc:"of Fail: the answer"`
	Message  string           `json:"message,omitempty" doc:"of InternalError and RefuseAdmission"`
	Duration *metav1.Duration `json:"duration,omitempty" doc:"of TooManyRequests and DelayWatch, such as 2s"`
	Count    int              `json:"count,omitempty" doc:"of StaleRead and DropWatch"`
	Webhook  string           `json:"webhook,omitempty" doc:"of FailWebhook; default: every webhook"`
}

func (f Fault) fault() faults.Fault {
	e := faults.Effect{Type: faults.EffectType(f.Effect.Type), Message: f.Effect.Message, Count: f.Effect.Count, Webhook: f.Effect.Webhook}
	if f.Effect.Duration != nil {
		e.Duration = f.Effect.Duration.Duration
	}
	if f.Effect.Status != nil {
		e.Err = &apierrors.StatusError{ErrStatus: *f.Effect.Status}
	}
	made := faults.Fault{
		Verb: f.Verb, Resource: f.Resource, Subresource: f.Subresource, Namespace: f.Namespace, Name: f.Name, User: f.User, UserAgent: f.UserAgent, AuditID: f.AuditID,
		After: f.After, Times: f.Times, Probability: f.Probability, Optional: f.Optional, Effect: e,
	}
	if f.Latency != nil {
		made.Latency = f.Latency.Duration
	}
	return made
}

// Injection is the answer with an injected fault.
type Injection struct {
	Fault int    `json:"fault" doc:"the number of the fault, for the paths of the control API"`
	Fired int    `json:"fired" doc:"how many requests, watches or calls the fault has struck so far"`
	Text  string `json:"text" doc:"what the fault does, in one line"`
}

func injectFault(c call, f Fault) (Injection, error) {
	i := c.cluster.Inject(f.fault())
	c.cluster.mu.Lock()
	defer c.cluster.mu.Unlock()
	c.cluster.injected++
	if err := i.Err(); err != nil {
		c.cluster.answered[err.Error()] = true
		return Injection{}, wrong(err)
	}
	c.cluster.faults[c.cluster.injected] = i
	return injection(c.cluster.injected, i), nil
}

func injection(n int, i faults.Injection) Injection {
	return Injection{Fault: n, Fired: i.Fired(), Text: i.Fault().String()}
}

// Injections lists faults.
type Injections struct {
	Faults []Injection `json:"faults" doc:"the faults, in the order in which they were injected, also those that were stopped"`
}

func listFaults(c call, _ none) (Injections, error) {
	c.cluster.mu.Lock()
	defer c.cluster.mu.Unlock()
	answer := Injections{Faults: []Injection{}}
	for _, n := range slices.Sorted(maps.Keys(c.cluster.faults)) {
		answer.Faults = append(answer.Faults, injection(n, c.cluster.faults[n]))
	}
	return answer, nil
}

// fault returns the fault in the path.
func (c call) fault() (int, faults.Injection, error) {
	n, _ := strconv.Atoi(c.path("fault"))
	c.cluster.mu.Lock()
	defer c.cluster.mu.Unlock()
	i, ok := c.cluster.faults[n]
	if !ok {
		return 0, nil, refuse(http.StatusNotFound, "there is no fault %.100q: the answer of injectFault has its number", c.path("fault"))
	}
	return n, i, nil
}

func getFault(c call, _ none) (Injection, error) {
	n, i, err := c.fault()
	if err != nil {
		return Injection{}, err
	}
	return injection(n, i), nil
}

func stopFault(c call, _ none) (Injection, error) {
	n, i, err := c.fault()
	if err != nil {
		return Injection{}, err
	}
	i.Stop()
	return injection(n, i), nil
}

func beginHold(c call, _ none) (none, error) {
	c.cluster.mu.Lock()
	defer c.cluster.mu.Unlock()
	if c.cluster.hold != nil {
		return none{}, refuse(http.StatusConflict, "the watch events are already held: release the other hold first")
	}
	c.cluster.hold = c.cluster.Hold()
	return none{}, nil
}

// holding returns the hold of the cluster.
func (c *cluster) holding() (faults.Hold, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hold == nil {
		return nil, refuse(http.StatusConflict, "no watch events are held: begin with POST to the hold of the cluster")
	}
	return c.hold, nil
}

// Pending is the request for the events that are held back.
type Pending struct {
	Wait bool `json:"wait,omitempty" doc:"waits until something is held back"`
}

// Delivery is an event that is held back from one watch.
type Delivery struct {
	Resource  string          `json:"resource" doc:"such as pods or deployments.apps"`
	User      string          `json:"user" doc:"the user of the watch"`
	UserAgent string          `json:"userAgent,omitempty" doc:"that of the watch"`
	Watch     int64           `json:"watch" doc:"the number of the watch"`
	Type      watch.EventType `json:"type" doc:"ADDED, MODIFIED or DELETED"`
	Namespace string          `json:"namespace,omitempty" doc:"that of the object"`
	Name      string          `json:"name" doc:"that of the object"`
	Revision  int64           `json:"revision" doc:"that of the change"`
	Text      string          `json:"text,omitempty" doc:"a short form"`
}

func (d Delivery) delivery() faults.Delivery {
	return faults.Delivery{
		Resource: schema.ParseGroupResource(d.Resource), User: d.User, UserAgent: d.UserAgent, Watch: d.Watch,
		Type: d.Type, Namespace: d.Namespace, Name: d.Name, Revision: d.Revision,
	}
}

// Deliveries is the answer with the events that are held back.
type Deliveries struct {
	Pending []Delivery `json:"pending" doc:"the events that are held back, in the order of the changes"`
}

func getPending(c call, p Pending) (Deliveries, error) {
	h, err := c.cluster.holding()
	if err != nil {
		return Deliveries{}, err
	}
	pending := h.Pending()
	for p.Wait && len(pending) == 0 {
		select {
		case <-h.More():
			pending = h.Pending()
		case <-c.Done():
			return Deliveries{}, c.Err()
		}
	}
	d := Deliveries{Pending: []Delivery{}}
	for _, e := range pending {
		d.Pending = append(d.Pending, Delivery{
			Resource: e.Resource.String(), User: e.User, UserAgent: e.UserAgent, Watch: e.Watch,
			Type: e.Type, Namespace: e.Namespace, Name: e.Name, Revision: e.Revision, Text: e.String(),
		})
	}
	return d, nil
}

// Deliver is the request to deliver events: exactly one field is set.
type Deliver struct {
	First     int        `json:"first,omitempty" doc:"the number of events to deliver, the first ones"`
	Events    []Delivery `json:"events,omitempty" doc:"these events, each together with those that come before it in its watch"`
	Resource  string     `json:"resource,omitempty" doc:"all events of a resource, such as pods or deployments.apps"`
	UserAgent string     `json:"userAgent,omitempty" doc:"all events for watches whose user agent begins with this"`
}

// Delivered is the answer with the number of delivered events.
type Delivered struct {
	Delivered int `json:"delivered" doc:"how many events were delivered"`
}

func deliver(c call, d Deliver) (Delivered, error) {
	h, err := c.cluster.holding()
	if err != nil {
		return Delivered{}, err
	}
	given := 0
	for _, set := range []bool{d.First != 0, d.Events != nil, d.Resource != "", d.UserAgent != ""} {
		if set {
			given++
		}
	}
	switch {
	case given != 1:
		return Delivered{}, refuse(http.StatusBadRequest, "give exactly one of first, events, resource and userAgent, not %d", given)
	case d.First < 0:
		return Delivered{}, refuse(http.StatusBadRequest, "first is %d, but must be greater than 0", d.First)
	case d.First > 0:
		return Delivered{h.Deliver(d.First)}, nil
	case d.UserAgent != "":
		return Delivered{h.DeliverTo(d.UserAgent)}, nil
	case d.Resource != "":
		if _, err := c.cluster.RESTMapper().ResourceFor(schema.ParseGroupResource(d.Resource).WithVersion("")); err != nil {
			return Delivered{}, wrong(fmt.Errorf("resource: %w", err))
		}
		return Delivered{h.DeliverKind(d.Resource)}, nil
	}
	var events []faults.Delivery
	for _, e := range d.Events {
		events = append(events, e.delivery())
	}
	return Delivered{h.DeliverThese(events...)}, nil
}

func releaseHold(c call, _ none) (none, error) {
	h, err := c.cluster.holding()
	if err != nil {
		return none{}, err
	}
	h.Release()
	c.cluster.mu.Lock()
	defer c.cluster.mu.Unlock()
	if c.cluster.hold == h {
		c.cluster.hold = nil
	}
	return none{}, nil
}
