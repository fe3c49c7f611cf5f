package integration

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// event is a line of `go test -json`.
type event struct {
	Action, Test, Output string
	Elapsed              float64 // seconds
}

// record is what the events say of a test or a subtest.
type record struct {
	outcome string // pass, fail or skip; empty if it did not end
	took    time.Duration
	output  strings.Builder
}

// records are the tests and subtests of a process, and what it printed outside of them, such as a panic.
type records struct {
	byName  map[string]*record
	names   []string // in the order in which they began
	outside strings.Builder
}

func readRecords(r io.Reader) (*records, error) {
	rs := &records{byName: map[string]*record{}}
	for decoder := json.NewDecoder(r); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return rs, nil
		} else if err != nil {
			return nil, err
		}
		if e.Test == "" {
			rs.outside.WriteString(e.Output)
			continue
		}
		rec := rs.byName[e.Test]
		if rec == nil {
			rec = &record{}
			rs.byName[e.Test] = rec
			rs.names = append(rs.names, e.Test)
		}
		switch e.Action {
		case "output":
			rec.output.WriteString(e.Output)
		case "pass", "fail", "skip":
			rec.outcome = e.Action
			rec.took = time.Duration(e.Elapsed * float64(time.Second))
		}
	}
}

// readEvents turns the events of a test's process into results: one for the test,
// and if it failed one for each subtest without subtests that did not pass.
func readEvents(r io.Reader, t test, took time.Duration) ([]verdict.Result, error) {
	rs, err := readRecords(r)
	if err != nil {
		return nil, err
	}
	if rs.byName[t.name] == nil {
		return nil, errors.New("the test did not run: " + rs.outside.String())
	}
	results := rs.results(t.name, strings.TrimSuffix(t.String(), t.name))
	results[0].Time = took
	return results, nil
}

// Results turns the events of a test binary, as "go tool test2json" prints them, into results: one for
// each test, and beneath one that failed one for each of its subtests without subtests that did not
// pass. prefix stands before their names. It is an error if no test ran.
func Results(events io.Reader, prefix string) (results []verdict.Result, err error) {
	rs, err := readRecords(events)
	if err != nil {
		return nil, err
	}
	for _, name := range rs.names {
		if !strings.Contains(name, "/") {
			results = append(results, rs.results(name, prefix)...)
		}
	}
	if len(results) == 0 {
		return nil, errors.New("no test ran: " + rs.outside.String())
	}
	return results, nil
}

// results are the results of a test and of its subtests.
func (rs *records) results(test, prefix string) []verdict.Result {
	top := rs.byName[test]
	result := top.result(prefix + test)
	result.Time = top.took
	var subtests []verdict.Result
	for _, name := range rs.names {
		hasSubtests := slices.ContainsFunc(rs.names, func(n string) bool { return strings.HasPrefix(n, name+"/") })
		if !strings.HasPrefix(name, test+"/") || hasSubtests {
			continue
		}
		sub := rs.byName[name].result(prefix + name)
		sub = applicable(sub, func(ancestor string) *record { return rs.byName[ancestor] }, name)
		if sub.Verdict != verdict.Pass {
			subtests = append(subtests, sub)
		}
	}
	slices.SortFunc(subtests, func(a, b verdict.Result) int { return cmp.Compare(a.Name, b.Name) })
	if result = summarize(result, subtests); result.Verdict != verdict.Fail {
		return []verdict.Result{result}
	}
	return append([]verdict.Result{result}, subtests...)
}

// applicable makes a failure not applicable if what the subtest is part of has said so: a
// server is often started for several subtests.
func applicable(sub verdict.Result, records func(string) *record, name string) verdict.Result {
	for sub.Verdict == verdict.Fail {
		end := strings.LastIndex(name, "/")
		if end < 0 {
			break
		}
		name = name[:end]
		if rec := records(name); rec != nil {
			if reason, refused := rec.refusal(); refused {
				sub.Verdict, sub.Reason = verdict.NotApplicable, reason
			}
		}
	}
	return sub
}

// summarize gives a test that did not pass the verdict of its subtests: it fails if
// one of them does, and if they are all not applicable so is it. The reason of a test
// that says nothing itself is its first subtest's.
func summarize(result verdict.Result, subtests []verdict.Result) verdict.Result {
	if result.Verdict == verdict.NotApplicable || len(subtests) == 0 {
		return result
	}
	subtest := subtests[0]
	for _, sub := range subtests {
		if sub.Verdict == verdict.Fail {
			subtest = sub
			break
		}
	}
	if result.Reason == "" {
		result.Verdict, result.Reason = subtest.Verdict, subtest.Reason
	}
	return result
}

func (r *record) result(name string) verdict.Result {
	if r.outcome == "pass" {
		return verdict.Result{Name: name, Verdict: verdict.Pass}
	}
	// What comes after the first refusal may be a consequence of it.
	if reason, refused := r.refusal(); refused {
		return verdict.Result{Name: name, Verdict: verdict.NotApplicable, Reason: reason}
	}
	said, reason := r.said(), ""
	if len(said) > 0 {
		reason = verdict.Reason(said[len(said)-1])
	}
	if r.outcome == "skip" {
		return verdict.Result{Name: name, Verdict: verdict.NotApplicable, Reason: "skips itself: " + reason}
	}
	return verdict.Result{Name: name, Verdict: verdict.Fail, Reason: reason}
}

// refusal returns the first reason a test gave why it says nothing about fakecluster.
func (r *record) refusal() (reason string, refused bool) {
	for _, line := range r.said() {
		if _, reason, refused := strings.Cut(line, "not applicable: "); refused {
			return verdict.Reason(reason), true
		}
	}
	return "", false
}

// said returns what a test logged, line by line. The last of it explains how the test
// ended: it is what made it fail or skip, or where it panicked or ran out of time.
func (r *record) said() []string {
	var said []string
	for line := range strings.Lines(r.output.String()) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "panic: ") {
			return append(said, line)
		}
		if logged := logLine.FindStringSubmatch(line); logged != nil && !noise.MatchString(logged[1]) {
			said = append(said, logged[1])
		} else if assertion := assertionLine.FindStringSubmatch(line); assertion != nil {
			said = append(said, assertion[1])
		} else if n := len(said) - 1; n >= 0 && strings.HasSuffix(said[n], ":") && strings.HasPrefix(line, assertionIndent) {
			said[n] += " " + strings.TrimSpace(line)
		}
	}
	return said
}

var (
	// logLine is what t.Log and its kin print: where, and what.
	logLine = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)$`)
	// assertionLine is what testify prints of an assertion that does not hold. It goes on in
	// the next line, and ends in a colon then.
	assertionLine   = regexp.MustCompile(`^\s+\tError:\s+\t?(.*)$`)
	assertionIndent = "        \t            \t"
	// noise is what Kubernetes' libraries log through a test, and what its fixture for
	// servers does.
	noise = regexp.MustCompile(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+\]|^Resolved testserver package path to: `)
)
