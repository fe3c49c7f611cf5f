package explore

import (
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/internal/place"
)

// test is the test that explores.
type test struct {
	testing.TB
	flags
	folder string // in which it runs; empty: the working directory
	report string // the folder for pages of findings; empty: none
	stderr io.Writer
	// bubble calls a function in a bubble of this process, and begin begins a trial in another process. One of them is nil.
	bubble func(func(t *testing.T))
	begin  func() place.Trial
	panic  func(text string) // ends the process of the test
}

// localTest returns a test of this process.
func localTest(t *testing.T) test {
	return test{TB: t, flags: processFlags(), report: os.Getenv("FAKECLUSTER_REPORT"), stderr: os.Stderr,
		bubble: func(f func(*testing.T)) { synctest.Test(t, f) }, panic: func(text string) { go panic(text) }}
}

// Remote is [Operator], or [Upgrade] of two versions, for a test of another process, in which Prepare of the subjects runs the operator. Module remote calls it, through the host; no test can.
func Remote(there place.Test, versions ...Subject) (Found, error) {
	began := time.Now()
	t := elsewhere(there)
	var publish func(Finding)
	if there.Fails {
		publish = t.publisher(versions[len(versions)-1].Replay == "")
	}
	found, err := t.find(publish, versions...)
	if there.Fails {
		t.log(found, err, began)
	}
	return found, err
}

// RemoteRun is [Run] or [Find] for a test of another process, in which body runs the test. Module remote calls it, through the host; no test can.
func RemoteRun(there place.Test, body Body, options ...Option) (Result, error) {
	t := elsewhere(there)
	result, err := t.try(body, options...)
	if there.Fails {
		t.logResult(result, err)
	}
	return result, err
}

// elsewhere returns a test of another process.
func elsewhere(there place.Test) test {
	t := test{TB: there.TB, flags: flags{time: there.Time, parallel: there.Parallel, junit: there.JUnit}, folder: there.Folder, report: there.Report, stderr: there.Stderr,
		begin: there.Begin, panic: there.Panic}
	t.setShard(there.Shard)
	return t
}

// find explores an operator, or its upgrade.
func (t test) find(publish func(Finding), versions ...Subject) (Found, error) {
	e, err := newExploration(t, versions...)
	if err != nil {
		return Found{}, err
	}
	defer e.close()
	e.publish = publish
	return e.explore()
}

// elsewhere plays a trial whose operator runs in a bubble of another process, and whose time is that of this bubble.
func (e *operatorExploration) elsewhere(out *outcome, run func(testing.TB)) {
	left, err := out.there.Play(run, out.run.blockedThere, func(idle time.Duration) { out.run.passesWithoutEnd(idle, "") })
	if out.err == nil {
		out.err = err
	}
	e.noteLeft(out, left)
}
