package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() []operator {
	return []operator{
		{name: "JobSet", module: "sigs.k8s.io/jobset", version: "v0.12.0", trials: 180, rejected: 20, perSecond: 4.5, findings: []finding{
			{verdict: defect, oracle: "no-panic", what: "the operator panics", trial: "jobsets default/a: create; remove /spec/network", evidence: []string{"Nothing sets it again.", "https://example.com/796"}},
			{verdict: open, oracle: "recovers", what: "pods default/a: another: phase", trial: "jobsets default/a: create"},
		}},
		{name: "Other", module: "example.com/other", version: "v1.0.0", trials: 3},
	}
}

func TestAListIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "found.txt")
	if err := os.WriteFile(path, []byte(text(sample())), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readList(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got, cmp.AllowUnexported(operator{}, finding{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestMistakesInAList(t *testing.T) {
	for content, want := range map[string]string{
		"defect: recovers: a pod\n":                   "1: the finding belongs to no operator",
		"# a comment\n    a trial\n":                  "2: the line belongs to no finding",
		"wrong: recovers: a pod\n":                    "1: a line is an operator, as in",
		"A example.com/a v1: 3 trials\n":              "1: a line is an operator, as in",
		text(sample()) + "\nfalse: recovers: a pod\n": "a line is an operator, as in",
	} {
		path := filepath.Join(t.TempDir(), "found.txt")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readList(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", content, err, want)
		}
	}
}

func TestDifferencesFromTheList(t *testing.T) {
	got := sample()[:1]
	got[0].version = "v0.13.0"
	for i := range got[0].findings {
		got[0].findings[i].verdict, got[0].findings[i].evidence = "", nil
	}
	got[0].findings[1].what = "pods default/a does not exist"
	want := []string{
		`JobSet is sigs.k8s.io/jobset v0.13.0, and listed as "sigs.k8s.io/jobset v0.12.0"`,
		"JobSet: recovers: pods default/a does not exist: not listed",
		"JobSet: recovers: pods default/a: another: phase: listed, and not found",
	}
	if diff := cmp.Diff(want, giveVerdicts(sample(), got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if f := got[0].findings[0]; f.verdict != defect || len(f.evidence) != 2 {
		t.Errorf("the listed finding has not kept its verdict: %+v", f)
	}
	if f := got[0].findings[1]; f.verdict != open {
		t.Errorf("the new finding has the verdict %q", f.verdict)
	}
	merged := merge(sample(), got)
	if len(merged) != 2 || merged[0].version != "v0.13.0" || merged[1].name != "Other" {
		t.Errorf("merged: %+v", merged)
	}
	few, many := finding{oracle: "recovers", what: "a pod exists, and 1 difference more"}, []finding{{oracle: "recovers", what: "a pod exists, and 12 differences more"}, {oracle: "recovers", what: "a pod exists, and 2 more"}}
	if few.in(many) != &many[0] || few.in(many[1:]) != nil {
		t.Error("findings are equal if they differ only in how many further differences there are")
	}
	if same := sample(); giveVerdicts(sample(), same) != nil {
		t.Errorf("equal findings differ: %q", giveVerdicts(sample(), same))
	}
}

// The list has 18 operators and upgrades. Each finding has a verdict with evidence, and at most one in ten is a false alarm.
func TestTheList(t *testing.T) {
	listed, err := readList("../" + listPath)
	if err != nil {
		t.Fatal(err)
	}
	if len(listed) < 18 {
		t.Errorf("the list has %d operators and upgrades, want at least 18", len(listed))
	}
	findings, alarms := 0, 0
	for _, o := range listed {
		for _, f := range o.findings {
			findings++
			if f.verdict == falseAlarm {
				alarms++
			}
			if f.verdict == open || len(f.evidence) == 0 {
				t.Errorf("%s: %s: %s: no verdict with evidence", o.name, f.oracle, f.what)
			}
		}
	}
	if findings == 0 || alarms*10 > findings {
		t.Errorf("%d of %d findings are false alarms", alarms, findings)
	}
	docs, err := os.ReadFile("../../docs/explore-operator.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(docs), table(listed)) {
		t.Errorf("docs/explore-operator.md does not have the table of found.txt, which go run ./found -table prints:\n%s", table(listed))
	}
}
