package explore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/remote/internal/collector"
	"github.com/fakecluster/fakecluster/remote/internal/exploration"
)

// Subject is an operator that [Operator] explores. Relative paths begin at the folder of the test.
type Subject struct {
	// Install are manifest files and folders with the objects that exist before the operator
	// starts: definitions, roles, service accounts. They are read as by remote.Manifests.
	// A namespace that the manifests refer to but do not contain is created.
	Install []string
	// Resources are the resources that the operator reconciles, as plural and group, such as "jobs.batch".
	// Set it if they are not the resources of its definitions. Seeds must contain an object of each. Default:
	// the resources of all definitions.
	Resources []string
	// Run runs the operator until ctx ends, with clients of c, which is the cluster as the operator sees it:
	//
	//	&rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}
	//
	// It is called for each trial, and again after each restart, so it must begin from nothing, as a new process does. It runs in a testing/synctest bubble.
	Run func(ctx context.Context, c *remote.Cluster) error
	// Seeds are manifest files and folders with custom resources, such as config/samples. The
	// trials begin with these and change them. They may also contain objects that the custom
	// resources need, such as Secrets. Default: for each definition, an object with the fields that
	// its schema requires.
	Seeds []string
	// Dump are files with the objects of a real cluster, as kubectl get -A -o yaml writes them.
	// Every trial begins with these objects. Replace the values of Secrets first. Objects that
	// cannot be loaded are in Found.Left. Default: the cluster is empty.
	Dump []string
	// Roles are the manifests with the roles of the operator, and with the bindings to its service account.
	// They are installed, and the operator runs as this service account. Default: the operator may do
	// everything, and the oracles Permitted and NeedsItsRules do not apply.
	Roles []string
	// User is the operator's service account as NAMESPACE/NAME. It is needed only if the bindings of Roles name
	// several. Default: the one that they name.
	User string

	// Prepare is called in each trial before the operator starts. Use it if the operator talks to
	// something outside of the cluster, such as a fake cloud, that has to be new for each trial, or has webhooks, for c.ServeWebhooks. c is the cluster as its administrator
	// sees it. It returns the function that runs the operator in this trial; Run must be nil then.
	Prepare func(t testing.TB, c *remote.Cluster) (run func(ctx context.Context, c *remote.Cluster) error)
	// Workloads starts controllers and nodes in the cluster of a trial, as the text of [remote.Workloads] describes them, such as "nodes: 1". Default: none run, and the exploration
	// sets the status of Deployments, Jobs, claims and the like as if their pods were running.
	Workloads string
	// Options are further options of the clusters. The garbage collector always acts.
	Options []remote.Option

	// Trials is the largest number of trials, not counting those that confirm and shorten a
	// finding. The flag -explore.time replaces it. Default: 500.
	Trials int
	// MaxFindings is the number of findings after which the exploration ends. Default: 10.
	MaxFindings int
	// Seed is the seed of random sequences, names and uids. The flag -explore.seed replaces it. Default: 1.
	Seed uint64
	// With and Without switch oracles on and off. Default: the [Oracles] whose Off is false are on.
	With, Without []Oracle
	// Ignore are fields that the oracles do not compare, such as counters. Each is a resource and a
	// JSON pointer, with * for each list index: "websites.example.com /status/restarts". Fields
	// below it are ignored, too. A resource alone ignores all its objects.
	Ignore []string
	// Invariants are conditions on objects that have to hold in every trial.
	Invariants []Invariant
	// Replay is a trial, as a report shows it, to run alone. The flag -explore.replay replaces it.
	Replay string
}

// Invariant is a condition on the objects of a resource that has to hold in every trial. Make one
// with [Always], [Never] or [Eventually].
type Invariant struct {
	name, resource, when string
	condition            remote.Condition
}

// Always requires that each object of a resource, such as deployments.apps, meets the condition in
// each of its states. The name is for reports. A condition is remote.CEL("object.spec.replicas >= 1"), for example.
func Always(name, resource string, condition remote.Condition) Invariant {
	return Invariant{name, resource, "always", condition}
}

// Never requires that no object of a resource meets the condition in any of its states.
func Never(name, resource string, condition remote.Condition) Invariant {
	return Invariant{name, resource, "never", condition}
}

// Eventually requires that each object of a resource meets the condition whenever the operator is
// quiet.
func Eventually(name, resource string, condition remote.Condition) Invariant {
	return Invariant{name, resource, "eventually", condition}
}

// Found is what an exploration of an operator has found.
type Found struct {
	// Trials is the number of trials. It includes trials that reach directly the state that another trial
	// reaches in several steps. Rejected is the number of further trials that were not possible, because the
	// API server rejects their writes.
	Trials, Rejected int
	// Findings are the findings, each once.
	Findings []Finding
	// Unconfirmed are problems that did not occur again when their trial was repeated, each with
	// the oracle and the trial. They may be noise, or depend on the order in which goroutines of
	// the operator run.
	Unconfirmed []string
	// Similar are differences that resemble three findings and so were not examined further, each
	// with the oracle and the trial. For example, an operator that never updates its Pods differs
	// at each field of the Pod template. If MaxFindings is less than three, there are none.
	Similar []string
	// Shard is the flag -explore.shard; empty: all trials ran.
	Shard string
	// Unchecked are the oracles that did not apply, each with its reason.
	Unchecked []string
	// Left are the objects of Subject.Dump that were left out, each with the reason.
	Left []string
}

// Finding is something that the operator does wrong.
type Finding struct {
	Oracle Oracle
	// Trial is the value of Subject.Replay that repeats the trial.
	Trial string
	// What describes the finding in one sentence. Report is the whole text for the log of a test.
	What, Report string
}

// Operator explores an operator: it makes custom resources and changes of them from their definitions and
// samples, lets the operator work on each in a cluster of its own, and checks the results by [Oracles]. No
// test has to be written. Each finding fails t with the shortest steps that show it, the difference between what
// was expected and what is, the operator's requests, and the line that replays it. It must not be called in a testing/synctest bubble.
//
// The same seed gives the same findings. Findings are written to testdata/explore, and are tried first the next time.
func Operator(t *testing.T, s Subject) {
	t.Helper()
	if _, err := explore(t, true, s); err != nil {
		fail(t, err)
	}
}

// FindOperator explores an operator as [Operator] does, and returns what it has found instead of
// failing. It does not read or write testdata/explore. It returns an error if the manifests of the
// Subject are wrong, if the operator does not start, or if it is not quiet when there is nothing to
// do.
func FindOperator(t *testing.T, s Subject) (Found, error) {
	t.Helper()
	return explore(t, false, s)
}

// Upgrade explores the upgrade of an operator from one version to another, and the downgrade, as Upgrade of the main module does: the findings are those of
// [Operator] for the new version, and those of the oracles Upgrades, Downgrades and KeepsPods.
//
// The custom resources are the Seeds of from, and each of their fields is changed once, too.
// Trials, MaxFindings, Seed, With, Without, Ignore and Replay are those of to.
func Upgrade(t *testing.T, from, to Subject) {
	t.Helper()
	if _, err := explore(t, true, from, to); err != nil {
		fail(t, err)
	}
}

// FindUpgrade explores an upgrade as [Upgrade] does, and returns what it has found instead of failing. It does not read or write
// testdata/explore. The errors are those of [FindOperator], for either version.
func FindUpgrade(t *testing.T, from, to Subject) (Found, error) {
	t.Helper()
	return explore(t, false, from, to)
}

// explore explores versions of an operator. If fails is set, findings fail t and are kept.
func explore(t *testing.T, fails bool, versions ...Subject) (found Found, err error) {
	t.Helper()
	x, folder, err := newExploration(t, fails, &found)
	if err != nil {
		return found, err
	}
	for i := range versions {
		v, err := versions[i].version(folder)
		if err != nil {
			return found, err
		}
		x.Versions = append(x.Versions, v)
	}
	defer collector.RunLess()()
	return found, remote.Explore(t, x)
}

// newExploration returns an exploration of a test, and the folder of the test. What is found goes into a value, and fails the test if fails is set.
func newExploration(t *testing.T, fails bool, into any) (x exploration.Exploration[remote.Option, *remote.Cluster], folder string, err error) {
	folder, err = os.Getwd()
	if err != nil {
		return x, folder, err
	}
	x = exploration.Exploration[remote.Option, *remote.Cluster]{Stderr: os.Stderr, Into: into, Fields: map[string]any{
		"test": t.Name(), "folder": folder, "fails": fails,
		"parallel": value[int](parallelFlag), "time": value[time.Duration](timeFlag).String(), "shard": value[string](shardFlag),
	}}
	for field, path := range map[string]string{"junit": value[string](junitFlag), "report": os.Getenv("FAKECLUSTER_REPORT")} {
		if path != "" {
			x.Fields[field] = absolute(folder, path)[0]
		}
	}
	return x, folder, nil
}

// absolute returns paths that begin at a folder, if they are relative.
func absolute(folder string, paths ...string) []string {
	made := make([]string, len(paths))
	for i, path := range paths {
		made[i] = path
		if !filepath.IsAbs(path) {
			made[i] = filepath.Join(folder, path)
		}
	}
	return made
}

// version returns what package remote needs to know of the subject.
func (s Subject) version(folder string) (v exploration.Version[remote.Option, *remote.Cluster], err error) {
	switch {
	case s.Run == nil && s.Prepare == nil:
		return v, errors.New("Subject.Run is nil: it has to run the operator with clients of c.Transport() until ctx ends")
	case s.Run != nil && s.Prepare != nil:
		return v, errors.New("Subject has both Run and Prepare: give one of them")
	}
	if seed := value[uint64](seedFlag); seed != 0 {
		s.Seed = seed
	}
	if replay := value[string](replayFlag); replay != "" {
		s.Replay = replay
	}
	v.Options = s.Options
	if s.Workloads != "" {
		v.Options = append(append([]remote.Option{}, s.Options...), remote.Workloads(s.Workloads))
	}
	v.Fields = map[string]any{
		"install": absolute(folder, s.Install...), "seeds": absolute(folder, s.Seeds...), "dump": absolute(folder, s.Dump...), "roles": absolute(folder, s.Roles...),
		"resources": s.Resources, "user": s.User, "trials": s.Trials, "maxFindings": s.MaxFindings, "seed": s.Seed, "with": s.With, "without": s.Without, "ignore": s.Ignore,
		"replay": s.Replay,
	}
	var invariants []map[string]any
	for _, i := range s.Invariants {
		invariants = append(invariants, map[string]any{"name": i.name, "resource": i.resource, "when": i.when, "condition": i.condition})
	}
	v.Fields["invariants"] = invariants
	v.Prepare = s.prepare
	return v, nil
}

// prepare returns the function that runs the operator in a trial. What Prepare reports is the error of this function, and what it has started reports is told to fail.
func (s Subject) prepare(t *testing.T, fail func(text string), c *remote.Cluster) (run func(context.Context, *remote.Cluster) error, err error) {
	if s.Prepare == nil {
		return s.Run, nil
	}
	report := &recorder{TB: t}
	prepared := make(chan struct{})
	go func() { // which Prepare may end
		defer close(prepared)
		defer func() {
			if what := recover(); what != nil {
				report.Errorf("it has panicked: %v\n%s", what, debug.Stack())
			}
		}()
		run = s.Prepare(report, c)
	}()
	<-prepared
	if report.Failed() || run == nil {
		return nil, fmt.Errorf("Subject.Prepare has failed: %s", report.text())
	}
	report.callOnError(fail)
	return run, nil
}
