package fakecluster_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// Random histories in which everything is mixed: definitions and namespaces come and go, objects
// with finalizers, collections, forks, compaction, faults, watches that begin in each way and
// resume, exact lists and pages that go on later. After each operation everything that a client
// sees is compared with lists of the present, so that the operation that breaks something is found. A
// failure is played again with fewer and fewer operations, and the shortest history is printed.
func TestHistoriesOfEverything(t *testing.T) {
	random := seedtest.Rand(t)
	for range seedtest.Cases(40) {
		ops := make([]operation, 60+random.IntN(60))
		for i := range ops {
			ops[i] = someOperation(random)
		}
		seedtest.Play(t, ops, func(ops []operation) error { return playHistory(t, ops) })
	}
}

// The driver finds what it is for, and shows it with what it takes and no more.
func TestHistoriesAreShortened(t *testing.T) {
	ops := make([]operation, 40)
	random := seedtest.Rand(t)
	for i := range ops {
		ops[i] = operation{what: seedtest.Pick(random, "merge", "exact", "watch")}
	}
	ops[7], ops[21] = operation{what: "lie"}, operation{what: "create", kind: 2}
	ops = append(ops, operation{what: "lie"})
	err := playHistory(t, ops)
	if err == nil {
		t.Fatal("a list that is not what is there is not found")
	}
	shortest, _ := seedtest.Shorten(ops, err, func(ops []operation) error { return playHistory(t, ops) })
	if len(shortest) > 3 || !slices.Contains(shortest, operation{what: "create", kind: 2}) {
		t.Errorf("%v: %v", shortest, err)
	}
}

// operation is one step of a history. What it does in the state that it finds, the server decides.
type operation struct {
	what             string
	kind, where, who int
	choice           int
}

var (
	mixedKinds      = []string{"widgets", "gadgets", "configmaps"}
	mixedNamespaces = []string{"default", "one", "two"}
	mixedNames      = []string{"a", "b", "c"}
)

func (o operation) String() string {
	return fmt.Sprintf("%s %s %s/%s (%d)", o.what, mixedKinds[o.kind], mixedNamespaces[o.where], mixedNames[o.who], o.choice)
}

func someOperation(random *rand.Rand) operation {
	what := seedtest.Pick(random, "create", "create", "create", "create", "update", "merge", "merge", "apply", "status", "hold", "free", "free", "delete", "delete",
		"deletecollection", "define", "define", "undefine", "namespace", "endNamespace", "watch", "watchlist", "resume", "resume", "exact", "exact", "page", "continue",
		"fork", "compact", "fault", "fault", "stale")
	return operation{what, random.IntN(len(mixedKinds)), random.IntN(len(mixedNamespaces)), random.IntN(len(mixedNames)), random.IntN(6)}
}

// playHistory plays operations on a cluster of their own, in a bubble: when everything waits, all
// watchers have received it.
func playHistory(t *testing.T, ops []operation) (failed error) {
	synctest.Test(t, func(t *testing.T) {
		c, err := fakecluster.New(fakecluster.InProcess(), fakecluster.WithSeed(1))
		if err != nil {
			failed = err
			return
		}
		m := &mixed{truth: map[string]sight{}, compacted: -1}
		m.on(c)
		for _, kind := range []int{0, 1} {
			m.do(operation{what: "define", kind: kind})
		}
		defer func() { failed = errors.Join(failed, m.close()) }()
		for i, op := range append([]operation{{what: "nothing"}}, ops...) {
			m.do(op)
			if err := m.check(); err != nil {
				failed = fmt.Errorf("after operation %d, %s: %w", i, op, err)
				return
			}
		}
	})
	return failed
}

// sight is what a list shows.
type sight struct {
	uid      string // of the definition
	ending   bool   // the definition is being deleted, and takes no writes but deletes
	revision int
	objects  map[string]string // by NAMESPACE/NAME
	order    []string
}

// mixed is a history that is being played.
type mixed struct {
	cluster  *fakecluster.Cluster
	client   *http.Client
	host     string
	failed   error // of an operation itself
	parents  []parent
	watchers []*mixedWatcher
	truth    map[string]sight // by kind; without an entry it is not served
	past     []pastSight
	pages    []pastSight
	// compacted is the revision of the last compaction.
	compacted int
	number    int

	expiring []faults.Injection // faults that end a watch with 410, and compact the history
	fired    int                // how often these had struck when compacted was set
	expired  int                // watches that have ended with 410 for no other reason
}

// parent is a cluster of which the present one is a fork. It stays as it was.
type parent struct {
	mixed
	truth map[string]sight
}

// pastSight is what a kind looked like, and for pages the token that goes on.
type pastSight struct {
	kind  string
	token string
	sight
}

func (m *mixed) on(c *fakecluster.Cluster) {
	cfg := c.RESTConfig()
	client, err := clientrest.HTTPClientFor(cfg)
	if err != nil {
		panic(err) // the configuration is the cluster's own
	}
	m.cluster, m.client, m.host = c, client, cfg.Host
}

func (m *mixed) open(ctx context.Context, agent, method, path, contentType, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, m.host+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", agent)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return m.client.Do(req)
}

// send makes a request. Faults may strike it unless the agent is "truth".
func (m *mixed) send(agent, method, path, contentType, body string) (int, []byte) {
	resp, err := m.open(context.Background(), agent, method, path, contentType, body)
	if err != nil {
		return 0, []byte(err.Error()) // a fault has cut the connection
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	if resp.StatusCode >= 500 && agent == "truth" {
		m.failed = fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, answer)
	}
	return resp.StatusCode, answer
}

func mixedGroup(kind string) string {
	if kind == "configmaps" {
		return "/api/v1"
	}
	return "/apis/mixed.example.com/v1"
}

// do carries an operation out. What the server refuses is a part of the history, too.
func (m *mixed) do(op operation) {
	kind, namespace, name := mixedKinds[op.kind], mixedNamespaces[op.where], mixedNames[op.who]
	collection := mixedGroup(kind) + "/namespaces/" + namespace + "/" + kind
	m.number++
	object := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"labels":{"n":"%d"}}}`,
		strings.TrimPrefix(strings.TrimPrefix(mixedGroup(kind), "/apis/"), "/api/"), map[string]string{"widgets": "Widget", "gadgets": "Gadget", "configmaps": "ConfigMap"}[kind], name, m.number)
	const merge, definitions = "application/merge-patch+json", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	write := func(method, path, contentType, body string) { m.send("writer", method, path, contentType, body) }
	switch op.what {
	case "create":
		write("POST", collection, "application/json", object)
	case "update":
		write("PUT", collection+"/"+name, "application/json", object)
	case "merge":
		write("PATCH", collection+"/"+name, merge, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, m.number))
	case "apply":
		write("PATCH", collection+"/"+name+"?force=true&fieldManager=mixed", "application/apply-patch+yaml", object)
	case "status":
		write("PATCH", collection+"/"+name+"/status", merge, fmt.Sprintf(`{"status":{"n":%d}}`, m.number))
	case "hold":
		write("PATCH", collection+"/"+name, merge, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	case "free":
		write("PATCH", collection+"/"+name, merge, `{"metadata":{"finalizers":null}}`)
	case "delete":
		write("DELETE", collection+"/"+name, "", "")
	case "deletecollection":
		write("DELETE", collection, "", "")
	case "define":
		if kind != "configmaps" {
			singular := strings.TrimSuffix(kind, "s")
			write("POST", definitions, "application/json", fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%s.mixed.example.com"},"spec":{"group":"mixed.example.com","scope":"Namespaced","names":{"plural":%q,"kind":%q},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`,
				kind, kind, strings.ToUpper(singular[:1])+singular[1:]))
		}
	case "undefine":
		if kind != "configmaps" {
			write("DELETE", definitions+"/"+kind+".mixed.example.com", "", "")
		}
	case "namespace":
		write("POST", "/api/v1/namespaces", "application/json", fmt.Sprintf(`{"metadata":{"name":%q}}`, namespace))
	case "endNamespace":
		write("DELETE", "/api/v1/namespaces/"+namespace, "", "")
	case "watch", "watchlist":
		if len(m.watchers) < 12 {
			w := &mixedWatcher{mixed: m, kind: kind, streamed: op.what == "watchlist"}
			if op.choice%2 == 0 {
				w.namespace = namespace
			}
			m.watchers = append(m.watchers, w)
		}
	case "resume":
		if len(m.watchers) > 0 {
			m.watchers[op.choice%len(m.watchers)].stop()
		}
	case "exact":
		m.exact(op)
	case "page":
		m.page(kind)
	case "continue":
		m.goOn(op)
	case "fork":
		m.fork()
	case "compact":
		if err := m.cluster.Compact(); err != nil {
			m.failed = err
		}
		m.compacted = m.revision()
	case "fault":
		m.inject(op, kind)
	case "stale":
		m.stale(op, kind)
	case "lie": // a failure of the driver's own, for its test
		if m.truth["configmaps"].objects["default/a"] != "" {
			m.failed = errors.New("a lie")
		}
	}
}

func (m *mixed) inject(op operation, kind string) {
	strike := faults.Fault{Verb: "patch", UserAgent: "writer"}
	watch := faults.Fault{Verb: "watch", UserAgent: "watcher"}
	with := func(f faults.Fault, effect faults.Effect) faults.Fault { f.Effect = effect; return f }
	late := strike
	late.Latency = time.Millisecond
	fault := []faults.Fault{
		with(strike, faults.CutBeforeCommit()), with(strike, faults.CutAfterCommit()), with(strike, faults.Conflict()),
		with(strike, faults.Unavailable()), with(strike, faults.InternalError("on purpose")), with(strike, faults.TooManyRequests(0)),
		with(strike, faults.Timeout()), with(strike, faults.RefuseAdmission("on purpose")), late,
		with(watch, faults.DropWatch(0)), with(watch, faults.DropWatch(1)), with(watch, faults.DropWatch(3)),
		with(watch, faults.DelayWatch(time.Millisecond)), with(watch, faults.ExpireWatch()), with(watch, faults.ExpireWatch()),
		with(watch, faults.Unavailable()), with(watch, faults.InternalError("on purpose")), with(watch, faults.TooManyRequests(0)),
	}[op.choice*len(mixedNames)+op.who]
	if i := m.put(kind, fault); i != nil && fault.Effect.String() == faults.ExpireWatch().String() {
		m.expiring = append(m.expiring, i)
	}
}

// put puts a fault in force that strikes once, if the kind is served.
func (m *mixed) put(kind string, fault faults.Fault) faults.Injection {
	if now, served := m.truth[kind]; !served || now.ending {
		return nil
	}
	if fault.Resource = kind; kind != "configmaps" {
		fault.Resource += ".mixed.example.com"
	}
	fault.Times, fault.Optional = 1, true
	return m.cluster.Inject(fault)
}

// compactedAt returns the revision of the last compaction, and how often watches have been ended with 410.
func (m *mixed) compactedAt() (compacted, fired int) {
	for _, i := range m.expiring {
		fired += i.Fired()
	}
	if fired > m.fired {
		m.compacted, m.fired = m.revision(), fired // or a bit earlier
	}
	return m.compacted, fired
}

// stale lists a kind as a cache that lags shows it. It must be what an exact list shows.
func (m *mixed) stale(op operation, kind string) {
	i := m.put(kind, faults.Fault{Verb: "list", UserAgent: "stale", Effect: faults.StaleRead(1 + op.choice)})
	if i == nil {
		return
	}
	now := m.truth[kind]
	s, code, text := m.listBy("stale", kind, "")
	exact, exactly, _ := m.list(kind, fmt.Sprintf("?resourceVersion=%d&resourceVersionMatch=Exact", s.revision))
	if code != http.StatusOK || exactly != http.StatusOK {
		m.failed = fmt.Errorf("a stale list of %s: %d %s, and an exact one at %d: %d", kind, code, text, s.revision, exactly)
	} else if d := cmp.Diff(exact.objects, s.objects); d != "" || s.revision > now.revision || s.revision < now.revision-1-op.choice || i.Fired() == 0 && s.revision != now.revision { // it strikes only if there is an older state
		m.failed = fmt.Errorf("a stale list of %s is at %d, now %d, and not what was there (-was +listed):\n%s", kind, s.revision, now.revision, d)
	}
	i.Stop()
}

func (m *mixed) revision() int { return m.truth["configmaps"].revision }

// list is what the present list of a kind shows. It is not served if the definition is not there.
func (m *mixed) list(kind, query string) (sight, int, string) { return m.listBy("truth", kind, query) }

func (m *mixed) listBy(agent, kind, query string) (sight, int, string) {
	code, answer := m.send(agent, "GET", mixedGroup(kind)+"/"+kind+query, "", "")
	var l struct {
		Metadata struct{ ResourceVersion, Continue string }
		Items    []json.RawMessage
	}
	if code != http.StatusOK || json.Unmarshal(answer, &l) != nil {
		return sight{}, code, string(answer)
	}
	s := sight{objects: map[string]string{}}
	s.revision, _ = strconv.Atoi(l.Metadata.ResourceVersion)
	for _, item := range l.Items {
		key, _ := keyOf(item)
		s.order, s.objects[key] = append(s.order, key), revisionIn(item)
	}
	return s, code, l.Metadata.Continue
}

// keyOf returns NAMESPACE/NAME and the namespace.
func keyOf(object []byte) (key, namespace string) {
	var o struct {
		Metadata struct{ Namespace, Name string }
	}
	_ = json.Unmarshal(object, &o) // a text that is not an object does not have a name, which differs from all
	return o.Metadata.Namespace + "/" + o.Metadata.Name, o.Metadata.Namespace
}

func revisionIn(object []byte) string {
	var o struct {
		Metadata struct{ ResourceVersion string }
	}
	_ = json.Unmarshal(object, &o)
	return o.Metadata.ResourceVersion
}

// check compares the states of all watchers with the current objects.
func (m *mixed) check() error {
	truth := map[string]sight{}
	for _, kind := range mixedKinds {
		s, code, text := m.list(kind, "")
		switch {
		case code == http.StatusNotFound:
			continue
		case code != http.StatusOK:
			return fmt.Errorf("listing %s: %d %s", kind, code, text)
		}
		if kind != "configmaps" {
			code, answer := m.send("truth", "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+kind+".mixed.example.com", "", "")
			var o struct {
				Metadata struct{ UID, DeletionTimestamp string }
			}
			if code != http.StatusOK || json.Unmarshal(answer, &o) != nil {
				return fmt.Errorf("%s are served, and their definition is not there: %d", kind, code)
			}
			s.uid, s.ending = o.Metadata.UID, o.Metadata.DeletionTimestamp != ""
		}
		if before, ok := m.truth[kind]; ok && s.revision < before.revision {
			return fmt.Errorf("%s: the list is at %d, and was at %d", kind, s.revision, before.revision)
		}
		truth[kind] = s
		m.past = append(m.past, pastSight{kind: kind, sight: s})
	}
	m.truth = truth
	if m.failed != nil {
		return m.failed
	}
	for range 3 { // a watch that has ended goes on, maybe with a new list
		time.Sleep(2 * time.Millisecond) // of the bubble: what is held back has come then
		synctest.Wait()
		for i, w := range m.watchers {
			if err := w.look(); err != nil {
				return fmt.Errorf("watcher %d of %s in %q: %w", i, w.kind, w.namespace, err)
			}
		}
	}
	return nil
}

// checkRefusal reports whether a refusal of a past revision is right. It may be refused if the revision has been compacted, but not
// because the definition is another one.
func (m *mixed) checkRefusal(what, kind string, before sight, code int) (over bool, err error) {
	now, served := m.truth[kind]
	compacted, _ := m.compactedAt()
	switch {
	case !served:
		if code != http.StatusNotFound {
			return true, fmt.Errorf("%s of %s, which are not served: %d", what, kind, code)
		}
		return true, nil
	case code == http.StatusGone && before.revision < compacted:
		return true, nil
	case code != http.StatusOK:
		return true, fmt.Errorf("%s of %s at %d (now %d, compacted before %d): %d", what, kind, before.revision, now.revision, compacted, code)
	}
	return false, nil
}

// exact lists a kind as it was.
func (m *mixed) exact(op operation) {
	if len(m.past) == 0 {
		return
	}
	before := m.past[(op.choice*31+op.who*7+op.where)%len(m.past)]
	s, code, _ := m.list(before.kind, fmt.Sprintf("?resourceVersion=%d&resourceVersionMatch=Exact", before.revision))
	if over, err := m.checkRefusal("an exact list", before.kind, before.sight, code); over {
		m.failed = errors.Join(m.failed, err)
	} else if d := cmp.Diff(before.objects, s.objects); d != "" || s.revision != before.revision {
		m.failed = fmt.Errorf("an exact list of %s at %d is at %d, and not what was there (-was +listed):\n%s", before.kind, before.revision, s.revision, d)
	}
}

// page begins to list in pages of one.
func (m *mixed) page(kind string) {
	s, code, token := m.list(kind, "?limit=1")
	whole, served := m.truth[kind]
	if code == http.StatusOK && served && token != "" && s.revision == whole.revision {
		whole.order = whole.order[1:]
		m.pages = append(m.pages, pastSight{kind: kind, token: token, sight: whole})
	}
}

// goOn reads the rest of a list that began some time ago.
func (m *mixed) goOn(op operation) {
	if len(m.pages) == 0 {
		return
	}
	i := (op.choice + op.who) % len(m.pages)
	p := m.pages[i]
	m.pages = slices.Delete(m.pages, i, i+1)
	s, code, _ := m.list(p.kind, "?limit=500&continue="+url.QueryEscape(p.token))
	if over, err := m.checkRefusal("the rest of a list", p.kind, p.sight, code); over {
		m.failed = errors.Join(m.failed, err)
	} else if d := cmp.Diff(p.order, s.order); d != "" || s.revision != p.revision {
		m.failed = fmt.Errorf("the rest of a list of %s at %d is at %d, and not what was there (-was +listed):\n%s", p.kind, p.revision, s.revision, d)
	}
}

// fork goes on with a fork. The parent must stay as it is, and watchers resume on the fork.
func (m *mixed) fork() {
	if len(m.parents) == 3 {
		return
	}
	f, err := m.cluster.NewFork()
	if err != nil {
		m.failed = err
		return
	}
	for _, w := range m.watchers {
		w.stop()
	}
	m.parents = append(m.parents, parent{mixed{cluster: m.cluster, client: m.client, host: m.host}, m.truth})
	m.on(f)
}

// close ends everything. The parents are as they were when they were forked.
func (m *mixed) close() (err error) {
	for _, w := range m.watchers {
		w.stop()
	}
	for i, p := range m.parents {
		for kind, before := range p.truth {
			if s, code, _ := p.list(kind, ""); code != http.StatusOK || !cmp.Equal(before.objects, s.objects) {
				err = errors.Join(err, fmt.Errorf("parent %d has changed after its fork: %s: %d (-was +is):\n%s", i, kind, code, cmp.Diff(before.objects, s.objects)))
			}
		}
		err = errors.Join(err, p.cluster.Close())
	}
	err = errors.Join(err, m.cluster.Close())
	synctest.Wait()
	return err
}

// mixedWatcher watches a kind, and resumes where its watch has ended.
type mixedWatcher struct {
	mixed           *mixed
	kind, namespace string
	streamed        bool // it begins with a streaming list

	begun    bool
	initial  bool              // the initial events have not ended yet
	state    map[string]string // revisions of objects, by NAMESPACE/NAME
	position sight             // where it would go on: the definition and the revision

	cancel context.CancelFunc
	mu     sync.Mutex
	lines  [][]byte
	ended  bool
}

// stop drops the connection.
func (w *mixedWatcher) stop() {
	if w.cancel != nil {
		w.cancel()
		synctest.Wait()
	}
}

// look reads the events that have come, compares what the watcher knows with what is there, and
// opens a watch if there is none.
func (w *mixedWatcher) look() error {
	w.mu.Lock()
	lines, ended := w.lines, w.ended
	w.lines = nil
	w.mu.Unlock()
	expired := false
	for _, line := range lines {
		var err error
		if expired, err = w.read(line); err != nil {
			return err
		}
	}
	now, served := w.mixed.truth[w.kind]
	if w.cancel != nil && !ended {
		if w.initial {
			return errors.New("the initial events have not ended")
		}
		if !served || now.uid != w.position.uid {
			return fmt.Errorf("the watch goes on, and its definition is gone (%v)", served)
		}
		if d := cmp.Diff(w.visible(now), w.state); d != "" {
			return fmt.Errorf("its state differs from the server's at %d (-server +watch):\n%s", now.revision, d)
		}
		return nil
	}
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
	if expired {
		compacted, fired := w.mixed.compactedAt()
		if w.position.uid == now.uid && w.position.revision >= compacted && served {
			w.mixed.expired++
		}
		if w.mixed.expired > fired {
			return fmt.Errorf("410 at %d, though nothing has been compacted since %d, and %d watches were to end so", w.position.revision, compacted, fired)
		}
		w.begun = false
	}
	return w.resume(now, served)
}

// visible is what the watcher should have of a kind.
func (w *mixedWatcher) visible(s sight) map[string]string {
	seen := map[string]string{}
	for key, revision := range s.objects {
		if namespace, _, _ := strings.Cut(key, "/"); w.namespace == "" || namespace == w.namespace {
			seen[key] = revision
		}
	}
	return seen
}

// resume opens a watch: where the last one ended, or from the beginning.
func (w *mixedWatcher) resume(now sight, served bool) error {
	query := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}}
	switch {
	case w.begun:
		query.Set("resourceVersion", strconv.Itoa(w.position.revision))
	case !served:
		return nil
	case w.streamed:
		query.Set("sendInitialEvents", "true")
		query.Set("resourceVersionMatch", "NotOlderThan")
		w.state, w.initial, w.position = map[string]string{}, true, sight{uid: now.uid}
	default:
		w.state, w.position = w.visible(now), sight{uid: now.uid, revision: now.revision}
		query.Set("resourceVersion", strconv.Itoa(now.revision))
	}
	path := mixedGroup(w.kind)
	if w.namespace != "" {
		path += "/namespaces/" + w.namespace
	}
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := w.mixed.open(ctx, "watcher", "GET", path+"/"+w.kind+"?"+query.Encode(), "", "")
	if err != nil {
		cancel()
		return err
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		cancel()
		switch code := resp.StatusCode; {
		case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable, code == http.StatusInternalServerError && bytes.Contains(text, []byte("on purpose")):
			return nil // a fault; it tries again
		}
		_, err := w.mixed.checkRefusal("a watch", w.kind, w.position, resp.StatusCode)
		if resp.StatusCode == http.StatusGone {
			w.begun = false
		}
		return err
	}
	w.begun, w.cancel, w.ended = true, cancel, false
	go w.stream(resp.Body)
	return nil
}

func (w *mixedWatcher) stream(body io.ReadCloser) {
	defer body.Close()
	for lines := bufio.NewReader(body); ; {
		line, err := lines.ReadBytes('\n')
		w.mu.Lock()
		if len(bytes.TrimSpace(line)) > 0 {
			w.lines = append(w.lines, line)
		}
		if err != nil {
			w.ended = true
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
	}
}

// read reads one event.
func (w *mixedWatcher) read(line []byte) (expired bool, err error) {
	var event struct {
		Type   string
		Object json.RawMessage
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return false, nil // a fault has cut it in two
	}
	if event.Type == "ERROR" {
		var status struct{ Code int }
		_ = json.Unmarshal(event.Object, &status)
		if status.Code != http.StatusGone {
			return false, fmt.Errorf("%s", line)
		}
		return true, nil
	}
	revision, _ := strconv.Atoi(revisionIn(event.Object))
	if event.Type == "BOOKMARK" {
		if revision < w.position.revision {
			return false, fmt.Errorf("a bookmark at %d after %d", revision, w.position.revision)
		}
		w.position.revision = revision
		w.initial = w.initial && !bytes.Contains(line, []byte(`"k8s.io/initial-events-end":"true"`))
		return false, nil
	}
	key, namespace := keyOf(event.Object)
	_, exists := w.state[key]
	switch {
	case w.namespace != "" && namespace != w.namespace:
		return false, fmt.Errorf("an object of another namespace: %s", line)
	case !w.initial && revision <= w.position.revision:
		return false, fmt.Errorf("%s %s at %d comes after %d", event.Type, key, revision, w.position.revision)
	case exists == (event.Type == "ADDED"):
		return false, fmt.Errorf("%s %s at %d, and it was in the state before: %v", event.Type, key, revision, exists)
	}
	if w.state[key] = strconv.Itoa(revision); event.Type == "DELETED" {
		delete(w.state, key)
	}
	if !w.initial {
		w.position.revision = revision
	}
	return false, nil
}
