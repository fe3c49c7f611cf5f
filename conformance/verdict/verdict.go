// Package verdict holds what a suite says of fakecluster, one verdict for each of
// its tests, and compares it with the list that is checked in.
//
// A list is true in both directions: a test that turned from pass to fail is a
// difference, and so is one that is listed as failing and passes, one that is not
// listed, and one that is listed and no longer there. Only the verdicts are
// compared: the reasons beside them are for the reader.
package verdict

import (
	"cmp"
	"slices"
	"time"
)

// Verdict is what became of a test.
type Verdict string

const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	// NotApplicable is a test of something that fakecluster does not have, and is
	// not to have: etcd, or the insides of the real server.
	NotApplicable Verdict = "n/a"
)

// Result is the verdict on one test.
type Result struct {
	Name    string
	Verdict Verdict
	// Reason is one line that says why, unless the test passed.
	Reason string
	// Time is how long the test took; lists do not keep it.
	Time time.Duration
}

// Difference is a test whose verdict is not the one listed. A test that is not
// listed has no Listed verdict, one that did not run has no Got verdict.
type Difference struct {
	Name        string
	Listed, Got Verdict
	Reason      string
}

// Compare returns the differences between the list and what was got, by name.
func Compare(listed, got []Result) []Difference {
	byName := make(map[string]Difference, len(listed))
	for _, r := range listed {
		byName[r.Name] = Difference{Name: r.Name, Listed: r.Verdict}
	}
	for _, r := range got {
		d := byName[r.Name]
		d.Name, d.Got, d.Reason = r.Name, r.Verdict, r.Reason
		byName[r.Name] = d
	}
	var diffs []Difference
	for _, d := range byName {
		if d.Listed != d.Got {
			diffs = append(diffs, d)
		}
	}
	slices.SortFunc(diffs, func(a, b Difference) int { return cmp.Compare(a.Name, b.Name) })
	return diffs
}

// String says what to do about the difference.
func (d Difference) String() string {
	because := ""
	if d.Reason != "" {
		because = ": " + d.Reason
	}
	switch {
	case d.Listed == "":
		return d.Name + " is not listed and its result is " + string(d.Got) + because
	case d.Got == "":
		return d.Name + " is listed as " + string(d.Listed) + " and was not among the tests"
	case d.Listed == Pass:
		return d.Name + " used to pass; now: " + string(d.Got) + because
	default:
		return d.Name + " is listed as " + string(d.Listed) + "; now: " + string(d.Got) + because
	}
}
