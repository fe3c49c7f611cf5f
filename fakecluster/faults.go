package fakecluster

import (
	"errors"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/rest"
)

// AnySubresource is the Subresource of a [Fault] that strikes objects and all their subresources.
const AnySubresource = faultinjection.AnySubresource

// Fault is something that goes wrong with requests of clients, on purpose: which requests, how
// often, and what happens to them. [Cluster.Inject] puts it in force:
//
//	lost := c.Inject(fakecluster.Fault{
//		Verb: "update", Resource: "crontabs.stable.example.com", Subresource: "status",
//		Times: 1, Effect: fakecluster.CutAfterCommit(),
//	})
//
// It strikes clients: the writes of the server's own controllers are spared, except by
// [FailWebhook] and [FailConversion]. Requests for no resource, such as discovery, are spared too.
//
// If several faults match a request, the first that was injected strikes it, and the others do not
// count it. Faults that have only a Latency strike beside another.
type Fault struct {
	// Verb is a verb of RBAC: get, list, watch, create, update, patch, delete, deletecollection.
	// Empty: every verb that the effect can strike. For example, a Conflict strikes writes.
	Verb string
	// Resource is the plural name, with the group after a dot unless it is the core group:
	// "pods", "deployments.apps". Empty: every resource.
	Resource string
	// Subresource is a subresource, such as "status". As in RBAC, empty means the object itself,
	// without its subresources; AnySubresource means both.
	Subresource string
	// Namespace is that of the request; empty: any.
	Namespace string
	// Name is that of the object, also of one that is being created; empty: any.
	Name string
	// User is the name of the user who makes the request, "system:serviceaccount:default:operator"
	// for a service account; empty: anybody, the administrator too.
	User string
	// UserAgent is what the user agent of the client begins with; empty: any.
	UserAgent string

	// After is how many requests that match are left alone first.
	After int
	// Times is how many requests are struck at most; 0: all, until Stop.
	Times int
	// Probability is the probability with which a request that matches, and is not left alone, is
	// struck; 0: 1. With WithSeed, the same requests in the same order are struck again.
	Probability float64
	// Optional says that the fault need not strike. Any other fault that has struck nothing at the
	// end of the test fails it.
	Optional bool

	// Latency is how long a request waits before anything else happens to it. It is the time of the
	// process, and in a testing/synctest bubble the bubble's time. It counts towards the time that a
	// request may take.
	Latency time.Duration
	// Effect is what happens to the request then. The zero value: it goes on, only later.
	Effect Effect
}

// String says in one line what the fault does.
func (f Fault) String() string { return f.internal().String() }

func (f Fault) internal() faultinjection.Fault {
	return faultinjection.Fault{
		Verb: f.Verb, Resource: f.Resource, Subresource: f.Subresource, Namespace: f.Namespace, Name: f.Name,
		User: f.User, UserAgent: f.UserAgent, After: f.After, Times: f.Times, Probability: f.Probability,
		Optional: f.Optional, Latency: f.Latency, Effect: f.Effect.effect,
	}
}

// Effect is what a [Fault] does to a request.
type Effect struct{ effect faultinjection.Effect }

// String names the effect.
func (e Effect) String() string { return e.effect.String() }

// Fail answers with the Status of an error of k8s.io/apimachinery/pkg/api/errors. Nothing has been
// read or written then.
func Fail(err error) Effect { return Effect{faultinjection.Fail(err)} }

// Conflict answers a write with 409, as if another write had come first: "the object has been
// modified; please apply your changes to the latest version and try again".
func Conflict() Effect { return Effect{faultinjection.Conflict()} }

// TooManyRequests answers with 429 as a server that has too much to do, which is a text and no
// Status. The time, in whole seconds, becomes the header Retry-After; 0: there is no such header.
//
// client-go repeats a request that is answered so by itself, after the time and up to ten times, if
// there is the header: its caller sees nothing of a single one.
func TooManyRequests(retryAfter time.Duration) Effect {
	return Effect{faultinjection.TooManyRequests(retryAfter)}
}

// InternalError answers with 500: "Internal error occurred: TEXT".
func InternalError(text string) Effect { return Effect{faultinjection.InternalError(text)} }

// Unavailable answers with 503, as a server that is going down: "apiserver is shutting down".
func Unavailable() Effect { return Effect{faultinjection.Unavailable()} }

// Timeout answers with 504, as a server whose request has taken too long, at once. Nothing has been
// read or written. For a write that was made and whose answer never came, use CutAfterCommit.
func Timeout() Effect { return Effect{faultinjection.Timeout()} }

// CutBeforeCommit breaks the connection of a write that has not been made. The client gets an error
// of the network (EOF), and cannot know whether the write was made. It strikes no dry runs.
func CutBeforeCommit() Effect { return Effect{faultinjection.CutBeforeCommit()} }

// CutAfterCommit breaks the connection of a write that has been made: it is in the store, watches
// tell of it, and the client gets the same error as from CutBeforeCommit. It strikes writes that
// succeed, and no dry runs, wherever their options stand.
func CutAfterCommit() Effect { return Effect{faultinjection.CutAfterCommit()} }

// StaleRead answers gets and lists from the state as of some revisions before, as a cache that lags
// does. The state is whole and consistent: a list shows what it would have shown then, with the
// resourceVersion of then, and a watch from there misses nothing. Every write of any object is a
// revision.
//
// A read that asks for a resourceVersion at least gets nothing older, and a list that asks for
// exactly one, or continues, is not struck. A real server answers only reads with resourceVersion=0
// so. Others are stale if a cache is in between, such as that of an informer. The state is no older
// than the history, and than the definition of a custom resource.
func StaleRead(revisions int) Effect { return Effect{faultinjection.StaleRead(revisions)} }

// RefuseAdmission refuses a valid write as an admission plugin does, with 403:
// RESOURCE "NAME" is forbidden: MESSAGE.
func RefuseAdmission(message string) Effect { return Effect{faultinjection.RefuseAdmission(message)} }

// DropWatch breaks the connection of a watch after it has told of a number of further events; 0: at
// once. It strikes watches that run when the fault is injected, in the order in which they began,
// and then those that begin. What a watch begins with does not count as events.
func DropWatch(afterEvents int) Effect { return Effect{faultinjection.DropWatch(afterEvents)} }

// DelayWatch delivers all events of a watch later, in their order. It strikes the same watches as
// DropWatch. After Stop, further events come in time, and still in their order. A watch that ends
// because the definition of its resource changes ends when it has all events from before.
func DelayWatch(by time.Duration) Effect { return Effect{faultinjection.DelayWatch(by)} }

// ExpireWatch ends a watch with the event ERROR and the Status 410 "too old resource version", and
// compacts the history as [Cluster.Compact] does, so that the client has to list again. It strikes
// the same watches as DropWatch. Other watches go on.
func ExpireWatch() Effect { return Effect{faultinjection.ExpireWatch()} }

// FailWebhook makes the calls of an admission webhook fail as if nobody listened at its address;
// the failurePolicy of the webhook decides what follows. The name is that of the webhook in its
// configuration, such as "validate.example.com"; empty: every webhook. The fields of the fault say
// for which writes of clients. Several webhooks of one write are struck one by one.
func FailWebhook(name string) Effect { return Effect{faultinjection.FailWebhook(name)} }

// FailConversion makes the calls of the conversion webhook of a Resource fail as if nobody listened
// at its address. It strikes calls, whoever causes them: all other fields of the fault that say
// which requests have to be empty. An object that need not be converted is still served. The history names
// the fault with each request that fails because of it, or whose admission met it; a conversion for
// managedFields alone fails without a trace there, as on a real server.
func FailConversion() Effect { return Effect{faultinjection.FailConversion()} }

// Injection is a fault in force.
type Injection struct {
	fault     Fault
	injection *faultinjection.Injection // nil: there is an error
	err       error
}

// Fault returns the fault.
func (i *Injection) Fault() Fault { return i.fault }

// Err says why the fault could not be injected; nil: it was. In a cluster of [Start], such an error
// has failed the test already.
func (i *Injection) Err() error { return i.err }

// Fired returns how many requests, watches or calls the fault has struck until now.
func (i *Injection) Fired() int {
	if i.injection == nil {
		return 0
	}
	return i.injection.Fired()
}

// Stop ends the fault. A request that is waiting for its Latency goes on waiting. A fault that has
// not struck until then still fails the test, unless it is Optional. Stopping again does nothing.
func (i *Injection) Stop() {
	if i.injection != nil {
		i.injection.Stop()
	}
}

// Inject puts a fault in force, until Stop or the end of the cluster. A fork has none of the faults
// of its origin.
//
// In a cluster of [Start] or [Cluster.Fork], a fault that contradicts itself, or that names a
// resource, subresource or verb that the cluster does not serve, fails the test at once. At the end
// of the test, a fault that has never fired fails it, unless it is Optional. Call Inject from the
// goroutine of the test.
//
// In a cluster of [New] or [Cluster.NewFork], which have no test, [Injection.Err] returns the error,
// and [Cluster.Close] returns it again, together with those of faults that have never fired.
func (c *Cluster) Inject(f Fault) *Injection {
	if c.test != nil {
		c.test.Helper()
	}
	i := &Injection{fault: f}
	i.injection, i.err = rest.FaultsOf(c.server).Inject(f.internal())
	if i.err != nil {
		c.blame(i.err)
	}
	return i
}

// Compact forgets the history up to now, as etcd does every five minutes on a real cluster: watches
// and lists at older revisions get 410. Watches that are running go on. It fails if the cluster is
// closed.
func (c *Cluster) Compact() error { return rest.FaultsOf(c.server).Compact() }

// blame fails the test of the cluster at once, or keeps an error for Close.
func (c *Cluster) blame(err error) {
	if c.test != nil {
		c.test.Helper()
		c.test.Fatalf("fakecluster: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, err)
}

// unfired returns the errors of faults that should have struck and have not.
func (c *Cluster) unfired() (errs []error) {
	for _, i := range rest.FaultsOf(c.server).Injections() {
		if why := i.Unfired(); why != "" {
			errs = append(errs, errors.New(why))
		}
	}
	return errs
}

// tellUnfired fails a test for each fault that should have struck and has not.
func (c *Cluster) tellUnfired(t testing.TB) {
	for _, err := range c.unfired() {
		t.Errorf("fakecluster: %v", err)
	}
}
