package explore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/junit"
)

// Subject is an operator that [Operator] explores.
type Subject struct {
	// Install are manifest files and folders with the objects that exist before the operator
	// starts: definitions, roles, service accounts. They are read as by fakecluster.WithManifests.
	// A namespace that the manifests refer to but do not contain is created.
	Install []string
	// Resources are the resources that the operator reconciles, as plural and group, such as "jobs.batch".
	// Set it if they are not the resources of its definitions. Seeds must contain an object of each. Default:
	// the resources of all definitions.
	Resources []string
	// Run runs the operator until ctx ends, with clients of config. It is called for each trial, and again
	// after each restart, so it must begin from nothing, as a new process does. Several trials run at the
	// same time, so Run must not use shared state.
	Run func(ctx context.Context, config *rest.Config) error
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
	// something outside of the cluster, such as a fake cloud, that has to be new for each trial. It
	// returns the function that runs the operator in this trial; Run must be nil then.
	Prepare func(t testing.TB, c *fakecluster.Cluster) (run func(ctx context.Context, config *rest.Config) error)
	// Workloads starts controllers and nodes in the cluster of a trial, for example with workloads.Run(t, c,
	// workloads.Nodes(1)). The operator does not answer for what these write. Default: none run, and the
	// exploration sets the status of Deployments, Jobs, claims and similar objects as if their pods were running.
	Workloads func(t testing.TB, c *fakecluster.Cluster)
	// Options are further options of the clusters, which are always InProcess, with the default controllers
	// and the garbage collector.
	Options []fakecluster.Option

	// RealTime is for an operator that cannot run in a testing/synctest bubble, because it needs a
	// socket or a clock outside of the cluster. Then the trials run in real time, and a step is
	// done when nothing has been written for this duration, such as time.Second. Later writes of
	// the operator are missed, so the duration must be longer than its pauses. A trial takes
	// seconds. Default: the trials run in bubbles.
	RealTime time.Duration

	// Trials is the largest number of trials, not counting those that confirm and shorten a
	// finding. The flag -explore.time replaces it. Default: 500, or 50 in real time.
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

// Operator explores an operator. It generates custom resources and changes of them from definitions and
// samples, runs the operator on each in a cluster of its own, and checks the results by [Oracles]. You do not
// have to write a test. Each finding fails t with the shortest steps that show it, the difference between the
// expected and the actual objects, the operator's requests, and the line that replays it.
//
// A trial runs in a testing/synctest bubble, so its hours take no real time, unless Subject.RealTime is set.
// The same seed gives the same findings. Findings are written to testdata/explore, and their trials run first
// the next time. A mistake in the Subject fails t with t.Fatal.
//
// docs/explore-operator.md describes the trials, the oracles, and what to do with a finding.
func Operator(t *testing.T, s Subject) {
	t.Helper()
	began := time.Now()
	test := localTest(t)
	found, err := test.find(test.publisher(s.Replay == ""), s)
	test.log(found, err, began)
}

// publisher returns a function that fails a test with a finding as soon as it is found, and writes it to the
// corpus if it is new. It also prints a line to stderr, because go test shows the log of a test only at its
// end, and loses it if the process ends before.
func (t test) publisher(isNew bool) func(Finding) {
	return func(f Finding) {
		t.Helper()
		t.Error(f.Report)
		fmt.Fprintf(t.stderr, "explore: %s: the operator %s: %s\n    -explore.replay='%s'\n", t.Name(), f.Oracle.claim(), f.What, f.Trial)
		if !isNew || t.replay != "" {
			return
		}
		if err := t.remember(f); err != nil {
			t.Logf("explore: %v", err)
		}
	}
}

// log logs the summary of an exploration and writes its files. The findings have been published before.
func (t test) log(found Found, err error, began time.Time) {
	t.Helper()
	if err != nil {
		t.Fatalf("explore: %v", err)
	}
	if err := t.writeFiles(found); err != nil {
		t.Errorf("explore: %v", err)
	}
	for _, doubtful := range found.Unconfirmed {
		t.Logf("explore: not a finding, because the trial did not show it again: %s", doubtful)
	}
	if text := found.logSimilar(); text != "" {
		t.Log("explore: " + text)
	}
	t.Logf("explore: %s; %.3g trials a second", found, float64(found.Trials+found.Rejected)/time.Since(began).Seconds())
}

// writeFiles writes the files of the flag -explore.junit and the environment variable FAKECLUSTER_REPORT.
func (t test) writeFiles(found Found) error {
	name := junit.FileName(t.Name())
	if t.junit != "" {
		if err := writeFile(filepath.Join(t.junit, name+".xml"), func(w io.Writer) error { return found.WriteJUnit(w, t.Name()) }); err != nil {
			return err
		}
	}
	if t.report == "" {
		return nil
	}
	for _, f := range found.Findings {
		path := filepath.Join(t.report, name+"-"+f.file()+".html")
		if err := writeFile(path, f.WritePage); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file, and makes its folder.
func writeFile(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// Found is the result of an exploration of an operator.
type Found struct {
	// RealTime is Subject.RealTime; 0: the trials ran in bubbles.
	RealTime time.Duration
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

	oracles []Oracle // the oracles that are on
}

// Finding is a mistake of the operator.
type Finding struct {
	Oracle Oracle
	// Trial is the value of Subject.Replay that repeats the trial.
	Trial string
	// What describes the finding in one sentence. Report is the whole text for the log of a test.
	What, Report string

	timelines []*timeline
}

// FindOperator explores an operator as [Operator] does, and returns what it has found instead of
// failing. It does not read or write testdata/explore. It returns an error if the manifests of the
// Subject are wrong, if the operator does not start, or if it is not quiet when there is nothing to
// do.
func FindOperator(t *testing.T, s Subject) (Found, error) {
	t.Helper()
	return localTest(t).find(nil, s)
}

// check returns an error for a wrong subject, and sets defaults.
func (s *Subject) check(f flags) error {
	switch {
	case bubble.Inside():
		return fmt.Errorf("explore.Operator in a synctest bubble: %w", errInBubble)
	case s.Run == nil && s.Prepare == nil:
		return errors.New("Subject.Run is nil: it has to run the operator, such as func(ctx context.Context, config *rest.Config) error { return controllerruntime.Start(ctx, config, setup) }")
	case s.Run != nil && s.Prepare != nil:
		return errors.New("Subject has both Run and Prepare: give one of them")
	case len(s.Install) == 0 && len(s.Options) == 0 && len(s.Resources) == 0:
		return errors.New("Subject.Install is empty: give the folder with the operator's definitions, such as config/crd, or set Subject.Resources, such as jobs.batch")
	case s.RealTime != 0 && s.RealTime < shortestRealTime:
		return fmt.Errorf("Subject.RealTime is %v: it must be at least %v, because the cluster cannot be seen to be quiet sooner", s.RealTime, shortestRealTime)
	case f.wrong != nil:
		return f.wrong
	case f.time < 0 || f.parallel < 1:
		return fmt.Errorf("-explore.time is %v and -explore.parallel %d: the time must not be negative, and at least one trial must run", f.time, f.parallel)
	case s.Trials < 0 || s.MaxFindings < 0:
		return fmt.Errorf("Subject.Trials is %d and MaxFindings %d: they must not be negative", s.Trials, s.MaxFindings)
	}
	for _, o := range slices.Concat(s.With, s.Without) {
		if !slices.ContainsFunc(Oracles(), func(d OracleDoc) bool { return d.Oracle == o }) {
			return fmt.Errorf("Subject: unknown oracle %q; explore.Oracles() lists them", o)
		}
	}
	if s.Trials == 0 {
		s.Trials = 500
		if s.RealTime > 0 {
			s.Trials = 50
		}
	}
	if s.MaxFindings == 0 {
		s.MaxFindings = 10
	}
	if s.Seed == 0 {
		s.Seed = 1
	}
	return nil
}

// checks reports whether an oracle is on for the subject.
func (s *Subject) checks(o Oracle) bool {
	if slices.Contains(s.Without, o) {
		return false
	}
	if slices.Contains(s.With, o) {
		return true
	}
	return !slices.ContainsFunc(Oracles(), func(d OracleDoc) bool { return d.Oracle == o && d.Off })
}
