// Package verdict has the results of a suite, one verdict for each of its tests, and
// compares them with the list that is checked in.
//
// A list must be true in both directions. It is a difference if a test that is listed as
// passing fails, if one that is listed as failing passes, if one is not listed, and if one
// is listed and no longer exists. Only the verdicts are compared; the reasons are for the
// reader.
package verdict

import (
	"cmp"
	"slices"
	"time"
)

// Verdict is the result of a test.
type Verdict string

const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	// NotApplicable is a test of something that fakecluster does not aim to have: etcd, or
	// the internals of the real server.
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
