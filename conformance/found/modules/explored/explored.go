// Package explored explores an operator from a Go module, and writes what was found for the command found.
package explored

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/explore"
)

// Result is what the exploration of an operator has found.
type Result struct {
	Operator, Module, Version string
	Trials, Rejected          int
	Seconds                   float64
	Findings                  []explore.Finding
}

// Results is the environment variable with the folder that results are written to, as JSON.
const Results = "FAKECLUSTER_FOUND"

// trials is how many trials there are by default, so that there are at least 100 without those that the API server rejects.
const trials = 150

// Run explores an operator of a module that go.mod requires, and writes the reports of the findings into the log of the test.
func Run(t *testing.T, module string, s explore.Subject) {
	RunCopy(t, module, find(t, module).Version, s)
}

// RunCopy does as Run for an operator whose module is copied in this version.
func RunCopy(t *testing.T, module, version string, s explore.Subject) {
	explored(t, module, version, &s, func() (explore.Found, error) { return explore.FindOperator(t, s) })
}

// Upgrade explores the upgrade of an operator from a version whose module is copied to the one of go.mod, and writes the reports of the findings into
// the log of the test.
func Upgrade(t *testing.T, module, former string, from, to explore.Subject) {
	UpgradeCopy(t, module, former, find(t, module).Version, from, to)
}

// UpgradeCopy does as Upgrade for an upgrade to a version that is copied, too.
func UpgradeCopy(t *testing.T, module, former, version string, from, to explore.Subject) {
	explored(t, module, former+"..."+version, &to, func() (explore.Found, error) { return explore.FindUpgrade(t, from, to) })
}

// explored runs find, the exploration of a subject whose settings it sets before.
func explored(t *testing.T, module, version string, s *explore.Subject, find func() (explore.Found, error)) {
	began := time.Now()
	s.MaxFindings = 50 // the default would end the exploration early
	s.Trials = cmp.Or(s.Trials, trials)
	klog.SetLogger(logr.Discard()) // the findings say what happened
	found, err := find()
	if err != nil {
		t.Fatal(err)
	}
	report(t, module, version, found, began)
}

// report writes what was found.
func report(t *testing.T, module, version string, found explore.Found, began time.Time) {
	r := Result{Operator: t.Name()[len("Test"):], Module: module, Version: version, Trials: found.Trials, Rejected: found.Rejected,
		Seconds: time.Since(began).Seconds(), Findings: found.Findings}
	for _, f := range found.Findings {
		t.Log(f.Report)
	}
	for _, similar := range found.Similar {
		t.Log(similar)
	}
	t.Logf("%s; %.1f trials a second", found, float64(r.Trials+r.Rejected)/r.Seconds)
	if folder := os.Getenv(Results); folder != "" {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, r.Operator+".json"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Folder returns a function that returns the paths of files in a module that go.mod requires.
func Folder(t *testing.T, module string) func(paths ...string) []string {
	return below(find(t, module).Dir)
}

// CopiedFolder does as Folder for a module that is copied to a folder, such as kuberay-v1.4.0.
func CopiedFolder(folder string) func(paths ...string) []string {
	return below(filepath.Join("..", "copied", folder))
}

func below(folder string) func(paths ...string) []string {
	return func(paths ...string) (joined []string) {
		for _, path := range paths {
			joined = append(joined, filepath.Join(folder, path))
		}
		return joined
	}
}

func find(t *testing.T, module string) (m struct{ Version, Dir string }) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-json", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
