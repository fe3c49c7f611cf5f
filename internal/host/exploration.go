package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/internal/place"
)

// An exploration of an operator works here, and the operator runs in the process of the client. The request that begins it stays open, as that of a session: its
// answer is a line of JSON for each thing that the client has to do or to show. For each trial the client makes a bubble, and opens one of the host, in
// which the trial is played: see trial.go.

// Exploration asks to explore an operator.
type Exploration struct {
	Session  string           `json:"session" doc:"the session in which the exploration lives; POST /v1/sessions opens one"`
	Test     string           `json:"test" doc:"the name of the test that explores"`
	Folder   string           `json:"folder" doc:"the absolute path of the folder in which the test runs; its testdata/explore has the former findings"`
	Report   string           `json:"report,omitempty" doc:"the absolute path of a folder for pages of findings; default: none is written"`
	JUnit    string           `json:"junit,omitempty" doc:"the absolute path of a folder for the result as JUnit; default: none is written"`
	Time     *metav1.Duration `json:"time,omitempty" doc:"how long to explore; default: until all trials are played"`
	Parallel int              `json:"parallel" doc:"how many trials run at the same time"`
	Shard    string           `json:"shard,omitempty" doc:"a part of the trials, such as 3/8; default: all"`
	Corpus   bool             `json:"corpus,omitempty" doc:"tries former findings first, fails the test with each finding, and writes the new ones"`
	Versions []Subject        `json:"versions" doc:"the operator; or the old version of it and the new one, of an upgrade"`
}

// Subject is a version of an operator. Its fields are those of explore.Subject.
type Subject struct {
	Function    uint64           `json:"function" doc:"names the function of the client that runs the operator"`
	Cluster     Start            `json:"cluster" doc:"the options of the clusters, without a session"`
	Install     []string         `json:"install,omitempty" doc:"absolute paths of manifests with the objects that exist before the operator starts"`
	Resources   []string         `json:"resources,omitempty" doc:"the resources that the operator reconciles; default: those of the definitions"`
	Seeds       []string         `json:"seeds,omitempty" doc:"absolute paths of manifests with custom resources; default: one of each definition"`
	Dump        []string         `json:"dump,omitempty" doc:"absolute paths of files with the objects of a real cluster"`
	Roles       []string         `json:"roles,omitempty" doc:"absolute paths of manifests with the roles of the operator; default: it may do everything"`
	User        string           `json:"user,omitempty" doc:"the service account of the operator, as NAMESPACE/NAME; default: that of the roles"`
	Trials      int              `json:"trials,omitempty" doc:"the largest number of trials; default: 500"`
	MaxFindings int              `json:"maxFindings,omitempty" doc:"after how many findings the exploration ends; default: 10"`
	Seed        uint64           `json:"seed,omitempty" doc:"the seed of random sequences, names and uids; default: 1"`
	With        []explore.Oracle `json:"with,omitempty" doc:"oracles that are switched on"`
	Without     []explore.Oracle `json:"without,omitempty" doc:"oracles that are switched off"`
	Ignore      []string         `json:"ignore,omitempty" doc:"fields that are not compared, each a resource and a JSON pointer"`
	Invariants  []Invariant      `json:"invariants,omitempty" doc:"conditions that have to hold in every trial"`
	Replay      string           `json:"replay,omitempty" doc:"a trial of a report that is played alone"`
}

// Invariant is a condition on the objects of a resource.
type Invariant struct {
	Name      string  `json:"name" doc:"for reports"`
	Resource  string  `json:"resource" doc:"the resource, such as deployments.apps"`
	When      string  `json:"when" doc:"always, never or eventually"`
	Condition WaitFor `json:"condition" doc:"the condition, without an object"`
}

// ExplorationLine is a line of the answer. It has one of its fields.
type ExplorationLine struct {
	Exploration string         `json:"exploration,omitempty" doc:"the first line: the name of the exploration"`
	Trial       int            `json:"trial,omitempty" doc:"a trial to play: make a bubble, and open one of the host for the trial in it"`
	Stacks      int            `json:"stacks,omitempty" doc:"a trial whose stacks are asked for, by reportTrial"`
	Log         string         `json:"log,omitempty" doc:"a text for the log of the test"`
	Error       string         `json:"error,omitempty" doc:"a text with which the test fails and goes on"`
	Stderr      string         `json:"stderr,omitempty" doc:"a text for the standard error"`
	Panic       string         `json:"panic,omitempty" doc:"a text with which the process of the client has to end, because a trial cannot"`
	Found       *explore.Found `json:"found,omitempty" schema:"object" doc:"the last line: what was found"`
	Failed      string         `json:"failed,omitempty" doc:"the last line: why the exploration could not go on"`
}

// exploration is an exploration whose operator runs in the process of a client.
type exploration struct {
	host    *Host
	id      string
	session string
	ctx     context.Context // until its end

	mu      sync.Mutex
	lines   *json.Encoder
	flush   func() error
	trials  map[int]*trial
	begun   int
	playing sync.WaitGroup
}

// openExploration explores an operator for as long as the request lasts.
func openExploration() operation {
	o := operation{
		name: "openExploration", method: http.MethodPost, path: "/v1/explorations", request: typeOf[Exploration](), answer: typeOf[ExplorationLine](),
		doc: "Explores an operator that runs in the process of the client. The answer is lines of JSON; keep the connection until the last one.",
	}
	o.serve = func(h *Host, w http.ResponseWriter, req *http.Request) {
		var asked Exploration
		err := read(req, &asked, o)
		if err == nil {
			err = h.hasSession(asked.Session)
		}
		var versions []explore.Subject
		x := &exploration{host: h, session: asked.Session, lines: json.NewEncoder(w), flush: http.NewResponseController(w).Flush, trials: map[int]*trial{}}
		if err == nil {
			versions, err = x.versions(asked)
		}
		if err != nil {
			writeError(w, err)
			return
		}
		ctx, cancel := context.WithCancel(req.Context())
		x.ctx = ctx
		h.addExploration(x)
		defer h.removeExploration(x)
		defer x.playing.Wait()
		defer cancel()
		go func() {
			select {
			case <-h.done:
				cancel()
			case <-ctx.Done():
			}
		}()
		x.tell(ExplorationLine{Exploration: x.id})
		x.explore(asked, versions)
	}
	return o
}

func (h *Host) addExploration(x *exploration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.explored++
	x.id = "e" + strconv.Itoa(h.explored)
	h.explorations[x.id] = x
}

func (h *Host) removeExploration(x *exploration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.explorations, x.id)
}

// trial returns a trial of an exploration of a session.
func (h *Host) trial(session, exploration string, number int) (*trial, error) {
	h.mu.Lock()
	x := h.explorations[exploration]
	h.mu.Unlock()
	if x != nil {
		if x.session != session {
			return nil, refuse(http.StatusConflict, "session: the exploration %s lives in another session", exploration)
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if tr := x.trials[number]; tr != nil {
			return tr, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "there is no trial %d of an exploration %.100q: it has ended", number, exploration)
}

// tell writes a line. A client that has gone does not read it.
func (x *exploration) tell(line ExplorationLine) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.lines.Encode(line)
	_ = x.flush()
}

// explore explores until the end, and tells what was found.
func (x *exploration) explore(asked Exploration, versions []explore.Subject) {
	there := place.Test{
		TB: &explorer{verdict: verdict{ctx: x.ctx}, exploration: x, name: asked.Test}, Folder: asked.Folder, Report: asked.Report, JUnit: asked.JUnit, Stderr: stderr{x},
		Parallel: asked.Parallel, Shard: asked.Shard, Corpus: asked.Corpus,
		Begin: x.begin, Panic: func(text string) { x.tell(ExplorationLine{Panic: text}) },
	}
	if asked.Time != nil {
		there.Time = asked.Time.Duration
	}
	var last ExplorationLine
	defer func() {
		switch p := recover().(type) {
		case nil:
		case fatal:
			last.Failed = string(p)
		default:
			last.Failed = fmt.Sprintf("the exploration has panicked: %v\n%s", p, debug.Stack())
		}
		x.tell(last)
	}()
	found, err := explore.Remote(there, versions...)
	last = ExplorationLine{Found: &found}
	if err != nil {
		last.Failed = err.Error()
	}
}

// explorer is the test of a client that explores. What it logs becomes lines.
type explorer struct {
	verdict
	exploration *exploration
	name        string
}

func (t *explorer) Name() string    { return t.name }
func (t *explorer) Log(args ...any) { t.exploration.tell(ExplorationLine{Log: fmt.Sprint(args...)}) }
func (t *explorer) Error(args ...any) {
	t.exploration.tell(ExplorationLine{Error: fmt.Sprint(args...)})
}
func (t *explorer) Failed() bool                      { return false }
func (t *explorer) Logf(format string, args ...any)   { t.Log(fmt.Sprintf(format, args...)) }
func (t *explorer) Errorf(format string, args ...any) { t.Error(fmt.Sprintf(format, args...)) }

// fatal is the panic by which Fatalf ends an exploration.
type fatal string

func (t *explorer) Fatalf(format string, args ...any) { panic(fatal(fmt.Sprintf(format, args...))) }

// stderr is the standard error of a client that explores.
type stderr struct{ exploration *exploration }

func (s stderr) Write(p []byte) (int, error) {
	s.exploration.tell(ExplorationLine{Stderr: string(p)})
	return len(p), nil
}

// versions returns the subjects of package explore.
func (x *exploration) versions(asked Exploration) (versions []explore.Subject, err error) {
	if n := len(asked.Versions); n != 1 && n != 2 {
		return nil, refuse(http.StatusBadRequest, "versions: there are %d: give the operator, or the old and the new version of an upgrade", n)
	}
	paths := []string{asked.Folder}
	for _, path := range []string{asked.Report, asked.JUnit} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	if err := absolute(paths...); err != nil {
		return nil, err
	}
	for _, v := range asked.Versions {
		s, err := x.subject(v)
		if err != nil {
			return nil, wrong(err)
		}
		versions = append(versions, s)
	}
	return versions, nil
}

func (x *exploration) subject(v Subject) (s explore.Subject, err error) {
	for _, paths := range [][]string{v.Install, v.Seeds, v.Dump, v.Roles} {
		if err := absolute(paths...); err != nil {
			return s, err
		}
	}
	switch other, err := isOther(v.Cluster.KubernetesVersion); {
	case err != nil:
		return s, err
	case other:
		return s, errors.New("kubernetesVersion: an exploration has the version of its host: set FAKECLUSTER_KUBERNETES_VERSION in place of it")
	}
	s = explore.Subject{Install: v.Install, Resources: v.Resources, Seeds: v.Seeds, Dump: v.Dump, Roles: v.Roles, User: v.User, Trials: v.Trials, MaxFindings: v.MaxFindings,
		Seed: v.Seed, With: v.With, Without: v.Without, Ignore: v.Ignore, Replay: v.Replay}
	if s.Options, err = v.Cluster.options(); err != nil {
		return s, err
	}
	functions, err := v.Cluster.functions(x.host)
	if err != nil {
		return s, err
	}
	s.Options = append(s.Options, functions...)
	for _, one := range v.Invariants {
		condition, err := one.Condition.condition()
		if err != nil {
			return s, fmt.Errorf("the invariant %s: %w", one.Name, err)
		}
		makes, ok := invariants[one.When]
		if !ok {
			return s, fmt.Errorf("the invariant %s: when is always, never or eventually, and not %.100q", one.Name, one.When)
		}
		s.Invariants = append(s.Invariants, makes(one.Name, one.Resource, condition))
	}
	x.runsThere(&s, v)
	return s, nil
}
