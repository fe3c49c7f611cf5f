package host

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/internal/place"
)

// An exploration works here, and the operator, or the test that is run again and again, runs in the process of the client. The request that begins it stays open, as that of a session: its
// answer is a line of JSON for each thing that the client has to do or to show. For each trial the client makes a bubble, and opens one of the host, in
// which the trial is played: see trial.go.

// Exploration asks to explore an operator, or a test.
type Exploration struct {
	Session  string           `json:"session" doc:"the session in which the exploration lives; POST /v1/sessions opens one"`
	Test     string           `json:"test" doc:"the name of the test that explores"`
	Folder   string           `json:"folder" doc:"the absolute path of the folder in which the test runs; its testdata/explore has the former findings"`
	Report   string           `json:"report,omitempty" doc:"the absolute path of a folder for pages of findings; default: none is written"`
	JUnit    string           `json:"junit,omitempty" doc:"the absolute path of a folder for the result as JUnit; default: none is written"`
	Time     *metav1.Duration `json:"time,omitempty" doc:"how long to explore; default: until all trials are played"`
	Parallel int              `json:"parallel" doc:"how many trials run at the same time"`
	Shard    string           `json:"shard,omitempty" doc:"a part of the trials, such as 3/8; default: all"`
	Fails    bool             `json:"fails,omitempty" doc:"fails the test with what is found; former findings about an operator are tried first, and new ones are written"`
	Versions []Subject        `json:"versions,omitempty" doc:"the operator; or the old version of it and the new one, of an upgrade"`
	Run      *Run             `json:"run,omitempty" doc:"a test that is run again and again, in place of versions"`
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
	Exploration string          `json:"exploration,omitempty" doc:"the first line: the name of the exploration"`
	Trial       int             `json:"trial,omitempty" doc:"a trial to play: make a bubble, and open one of the host for the trial in it"`
	Stacks      int             `json:"stacks,omitempty" doc:"a trial whose stacks are asked for, by reportTrial"`
	Log         string          `json:"log,omitempty" doc:"a text for the log of the test"`
	Error       string          `json:"error,omitempty" doc:"a text with which the test fails and goes on"`
	Stderr      string          `json:"stderr,omitempty" doc:"a text for the standard error"`
	Panic       string          `json:"panic,omitempty" doc:"a text with which the process of the client has to end, because a trial cannot"`
	Found       *explore.Found  `json:"found,omitempty" schema:"object" doc:"the last line: what was found about an operator"`
	Result      *explore.Result `json:"result,omitempty" schema:"object" doc:"the last line: what was found by runs of a test"`
	Skipped     bool            `json:"skipped,omitempty" doc:"the last line: the test has skipped itself"`
	Failed      string          `json:"failed,omitempty" doc:"the last line: why the exploration could not go on"`
}

// exploration is an exploration whose operator or test runs in the process of a client.
type exploration struct {
	host    *Host
	id      string
	session string
	test    string            // its name
	report  string            // the folder for pages; empty: none
	ctx     context.Context   // until its end
	other   *otherExploration // where it works; nil: here

	mu      sync.Mutex
	lines   *json.Encoder
	flush   func() error
	trials  map[int]*trial
	begun   int
	playing sync.WaitGroup
}

// openExploration explores for as long as the request lasts.
func openExploration() operation {
	o := operation{
		name: "openExploration", method: http.MethodPost, path: "/v1/explorations", request: typeOf[Exploration](), answer: typeOf[ExplorationLine](),
		doc: "Explores an operator or a test that runs in the process of the client. The answer is lines of JSON; keep the connection until the last one.",
	}
	o.serve = func(h *Host, w http.ResponseWriter, req *http.Request) {
		var asked Exploration
		err := read(req, &asked, o)
		if err == nil {
			err = h.hasSession(asked.Session)
		}
		x := &exploration{host: h, session: asked.Session, test: asked.Test, report: asked.Report, lines: json.NewEncoder(w), flush: http.NewResponseController(w).Flush, trials: map[int]*trial{}}
		var explore func(place.Test) ExplorationLine
		var version string
		if err == nil {
			version, err = asked.otherVersion()
		}
		switch {
		case err != nil:
		case version != "":
			if err = x.workElsewhere(req.Context(), asked, version, w); err == nil {
				return
			}
		default:
			explore, err = x.prepare(asked)
		}
		if err != nil {
			writeError(w, err)
			return
		}
		ctx, cancel := h.whileOpen(req.Context())
		x.ctx = ctx
		h.addExploration(x)
		defer h.removeExploration(x)
		defer x.playing.Wait()
		defer cancel()
		x.tell(ExplorationLine{Exploration: x.id})
		x.explore(asked, explore)
	}
	return o
}

// whileOpen returns a context that ends with another one, or with the host.
func (h *Host) whileOpen(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	go func() {
		select {
		case <-h.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
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
		if err := x.checkSession(session); err != nil {
			return nil, err
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
func (x *exploration) explore(asked Exploration, explore func(place.Test) ExplorationLine) {
	there := place.Test{
		TB: &explorer{verdict: verdict{ctx: x.ctx}, exploration: x, name: asked.Test}, Folder: asked.Folder, Report: asked.Report, JUnit: asked.JUnit, Stderr: stderr{x},
		Parallel: asked.Parallel, Shard: asked.Shard, Fails: asked.Fails,
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
		case skipped:
			last.Skipped = true
		default:
			last.Failed = fmt.Sprintf("the exploration has panicked: %v\n%s", p, debug.Stack())
		}
		x.tell(last)
	}()
	last = explore(there)
}

// prepare returns what explores, and returns the last line.
func (x *exploration) prepare(asked Exploration) (func(place.Test) ExplorationLine, error) {
	if err := asked.checkPaths(); err != nil {
		return nil, err
	}
	if asked.Run != nil {
		if len(asked.Versions) > 0 {
			return nil, refuse(http.StatusBadRequest, "run and versions exclude each other; give one of them")
		}
		options, err := asked.Run.options(x.host)
		if err != nil {
			return nil, wrong(err)
		}
		return func(there place.Test) ExplorationLine {
			result, err := explore.RemoteRun(there, x.body(*asked.Run), options...)
			return ExplorationLine{Result: &result}.with(err)
		}, nil
	}
	versions, err := x.versions(asked)
	if err != nil {
		return nil, err
	}
	return func(there place.Test) ExplorationLine {
		found, err := explore.Remote(there, versions...)
		return ExplorationLine{Found: &found}.with(err)
	}, nil
}

// with returns the line with the error of an exploration.
func (l ExplorationLine) with(err error) ExplorationLine {
	if err != nil {
		l.Failed = err.Error()
	}
	return l
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

// fatal is the panic by which Fatalf ends an exploration, and skipped that by which Skip does.
type (
	fatal   string
	skipped struct{}
)

func (t *explorer) Skip(args ...any) {
	t.Log(args...)
	panic(skipped{})
}

func (t *explorer) Fatalf(format string, args ...any) { panic(fatal(fmt.Sprintf(format, args...))) }

// stderr is the standard error of a client that explores.
type stderr struct{ exploration *exploration }

func (s stderr) Write(p []byte) (int, error) {
	s.exploration.tell(ExplorationLine{Stderr: string(p)})
	return len(p), nil
}

// checkPaths returns an error for a path of the test that is not absolute.
func (e Exploration) checkPaths() error {
	paths := []string{e.Folder}
	for _, path := range []string{e.Report, e.JUnit} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return absolute(paths...)
}

// versions returns the subjects of package explore.
func (x *exploration) versions(asked Exploration) (versions []explore.Subject, err error) {
	if n := len(asked.Versions); n != 1 && n != 2 {
		return nil, refuse(http.StatusBadRequest, "versions: there are %d: give the operator, or the old and the new version of an upgrade", n)
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
