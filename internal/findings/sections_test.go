package findings

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// began is when the requests of these tests began.
var began = time.Unix(100, 0)

func newSource() Source {
	return Source{began: began, Registry: resource.NewRegistry(1, builtin.Resources(builtin.Options{}, nil), nil)}
}

// sent is a request of the operator for the ConfigMap a after some seconds, whose number is that of the seconds.
func sent(seconds int64, verb string, code int, changes ...func(*inspect.Request)) inspect.Request {
	q := inspect.Request{
		Number: seconds, Time: began.Add(time.Duration(seconds) * time.Second), UserAgent: "operator/v1",
		Verb: verb, Version: "v1", Resource: "configmaps", Namespace: "default", Name: "a", Code: code,
	}
	for _, change := range changes {
		change(&q)
	}
	return q
}

// newestFirst returns requests in the order of findings.
func newestFirst(requests ...inspect.Request) []inspect.Request {
	slices.Reverse(requests)
	return requests
}

func TestWhatIsNotKept(t *testing.T) {
	drops := func(q *inspect.Request) { q.DropsStatus = true }
	requests := newestFirst(sent(1, "update", 200, drops), sent(2, "update", 200), sent(3, "update", 200, drops), sent(4, "patch", 200, drops, func(q *inspect.Request) { q.Patch = "apply" }))
	const advice = ": its status: configmaps take it only at the subresource /status, in Go with UpdateStatus or Status().Update"
	want := []string{"+4s operator apply configmaps default/a" + advice, "+3s operator update configmaps default/a (2 times)" + advice}
	if diff := cmp.Diff(want, newSource().dropped(requests)); diff != "" {
		t.Error(diff)
	}
}

func TestWarningsAndFaultsOfSuccessfulRequests(t *testing.T) {
	warns := func(q *inspect.Request) { q.Warnings = []string{`unknown field "a"`, "deprecated"} }
	struck := func(q *inspect.Request) { q.Fault = "StaleRead" }
	requests := newestFirst(
		sent(1, "create", 201, warns), sent(2, "create", 201, warns, func(q *inspect.Request) { q.Name = "b" }),
		sent(3, "list", 200, warns, func(q *inspect.Request) { q.User = "system:kube-controller-manager" }), // its informers also follow deprecated kinds
		sent(4, "get", 200, struck), sent(5, "get", 500, struck),
	)
	c := newSource()
	want := []string{
		"+2s operator create configmaps default/b: unknown field \"a\"", "+2s operator create configmaps default/b: deprecated",
		"+1s operator create configmaps default/a: unknown field \"a\"", "+1s operator create configmaps default/a: deprecated",
	}
	if diff := cmp.Diff(want, c.warnings(requests)); diff != "" {
		t.Errorf("warnings: %s", diff)
	}
	if diff := cmp.Diff([]string{"+4s operator get configmaps default/a: StaleRead"}, c.faulted(requests)); diff != "" {
		t.Errorf("faults: %s", diff)
	}
}

// Reads count since the last change of what they read, and from ten on.
func TestReadsThatAreRepeated(t *testing.T) {
	c := newSource()
	key := c.Registry.Resource("", "configmaps").Key("default", "a")
	writer := history.Writer{Time: began.Add(3 * time.Second), UserAgent: "operator/v1", Verb: "update", Request: 3}
	last := changes{last: map[string]written{key: {event: &store.Event{Type: store.Updated, Record: store.Record{Key: key, Value: `{"metadata":{"uid":"1"}}`}}, by: writer}}}
	reads := func(from, to int64, verb string, code int, changes ...func(*inspect.Request)) (requests []inspect.Request) {
		for n := from; n <= to; n++ {
			requests = append(requests, sent(n, verb, code, changes...))
		}
		return newestFirst(requests...)
	}
	for _, test := range []struct {
		rule     string
		requests []inspect.Request
		f        changes
		want     []string
	}{
		{"ten reads of one state", reads(4, 13, "get", 200), last, []string{"+13s operator get configmaps default/a (10 times): it is unchanged since +3s, operator update"}},
		{"those before the change do not count", reads(1, 12, "get", 200), last, nil},
		{"of an object that does not exist", reads(4, 13, "get", 404), changes{}, []string{"+13s operator get configmaps default/a (10 times): it does not exist"}},
		{"reads that are refused do not count", reads(4, 13, "get", 403), last, nil},
		{"a list in which nothing has changed", reads(4, 13, "list", 200, func(q *inspect.Request) { q.Name = "" }), last,
			[]string{"+13s operator list configmaps in default (10 times): nothing there has changed since +3s, operator update"}},
		{"writes that change nothing are named", append([]inspect.Request{sent(14, "update", 200, func(q *inspect.Request) { q.Repeats = true })}, reads(4, 13, "get", 200)...), last,
			[]string{"+13s operator get configmaps default/a (10 times): it is unchanged since +3s, operator update; later writes changed nothing: operator update (1)"}},
		{"different clients do not add up", append(reads(4, 9, "get", 200), reads(4, 9, "get", 200, func(q *inspect.Request) { q.UserAgent = "test/v1" })...), last, nil},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if diff := cmp.Diff(test.want, c.repeatedReads(test.requests, test.f)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWritesThatChangeNothing(t *testing.T) {
	stats := inspect.Stats{
		{UserAgent: "operator/v1", Verb: "update", Resource: "configmaps"}:                 {Repeats: manyRepeats},
		{UserAgent: "operator/v1", Verb: "patch", Resource: "pods", Subresource: "status"}: {Repeats: manyRepeats + 1},
		{UserAgent: "operator/v1", Verb: "update", Resource: "secrets"}:                    {Repeats: manyRepeats - 1},
	}
	want := []string{"operator patch pods/status: 21 times", "operator update configmaps: 20 times"}
	if diff := cmp.Diff(want, newSource().repeats(stats)); diff != "" {
		t.Error(diff)
	}
}

// An object that somebody else has deleted is named, if the controller that made it watches and the owner lives.
func TestOwnedObjectsThatAreNotCreatedAgain(t *testing.T) {
	s, err := store.Open(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := newSource()
	c.Store = s
	owner := c.Registry.Resource("", "configmaps").Key("default", "owner")
	if _, err := s.Create(owner, store.Write{Make: func(int64) string { return `{"metadata":{"name":"owner","uid":"7"}}` }}); err != nil {
		t.Fatal(err)
	}
	operator, test := history.Writer{Time: began, UserAgent: "operator/v1", Verb: "create", Request: 1}, history.Writer{Time: began.Add(2 * time.Second), UserAgent: "web.test", Verb: "delete", Request: 2}
	key := c.Registry.Resource("", "secrets").Key("default", "owned")
	record := store.Record{Key: key, Value: `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"7","controller":true}]}}`}
	watches := inspect.Stats{{UserAgent: "operator/v1", Verb: "watch", Resource: "configmaps"}: {Requests: 1}}
	for _, one := range []struct {
		rule    string
		deleter history.Writer
		stats   inspect.Stats
		want    []string
	}{
		{"by somebody else", test, watches,
			[]string{"+2s secrets default/owned of the ConfigMap owner: created by operator, deleted by web.test; if its changes should call the controller, check that its builder has .Owns(&corev1.Secret{})"}},
		{"by a client of a controller without a watch", test, inspect.Stats{}, nil},
		{"by a controller of the server", history.Writer{User: "system:serviceaccount:kube-system:generic-garbage-collector", UserAgent: "kube-controller-manager/v1", Verb: "delete", Request: 2}, watches, nil},
	} {
		t.Run(one.rule, func(t *testing.T) {
			f := changes{children: map[string]*child{}}
			f.trackChild(&store.Event{Type: store.Created, Record: record}, operator, true)
			f.trackChild(&store.Event{Type: store.Deleted, Record: record}, one.deleter, true)
			if diff := cmp.Diff(one.want, f.deletedChildren(c, one.stats)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
