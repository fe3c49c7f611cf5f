package verdict

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompareInBothDirections(t *testing.T) {
	listed := []Result{
		{Name: "same", Verdict: Pass},
		{Name: "fails as listed", Verdict: Fail, Reason: "the reason is not compared"},
		{Name: "broke", Verdict: Pass},
		{Name: "was repaired", Verdict: Fail},
		{Name: "went away", Verdict: NotApplicable},
	}
	got := []Result{
		{Name: "same", Verdict: Pass},
		{Name: "fails as listed", Verdict: Fail},
		{Name: "broke", Verdict: Fail, Reason: "panic"},
		{Name: "was repaired", Verdict: Pass},
		{Name: "came", Verdict: Pass},
	}
	want := []string{
		"broke used to pass; now: fail: panic",
		"came is not listed and its result is pass",
		"was repaired is listed as fail; now: pass",
		"went away is listed as n/a and was not among the tests",
	}
	var said []string
	for _, d := range Compare(listed, got) {
		said = append(said, d.String())
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestListReadsWhatItWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.txt")
	want := []Result{
		{Name: "TestA", Verdict: Pass},
		{Name: "kubectl get -l 'a # b'", Verdict: Fail, Reason: "has a # in it"},
		{Name: "TestC/in part", Verdict: NotApplicable, Reason: "reads etcd"},
	}
	if err := WriteList(path, "Two lines\nof comment.", want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadList(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestReasonIsOneStableLine(t *testing.T) {
	for message, want := range map[string]string{
		"\n  first \nsecond":                                   "first",
		"dial tcp 127.0.0.1:4567: refused":                     "dial tcp 127.0.0.1:<port>: refused",
		"uid 0a5f5b9e-7c3b-4e0c-9a60-1d8f1b8f3f6a at 0xc0001a": "uid <uid> at <pointer>",
		"since 2026-01-02T03:04:05Z":                           "since <time>",
		strings.Repeat("é", 200):                               strings.Repeat("é", 159) + "…",
	} {
		if got := Reason(message); got != want {
			t.Errorf("Reason(%q) = %q, want %q", message, got, want)
		}
	}
}

func TestCheckOfSomeKeepsTheOthers(t *testing.T) {
	list := List{Path: filepath.Join(t.TempDir(), "list.txt"), Update: true}
	listed := []Result{{Name: "a", Verdict: Pass}, {Name: "b", Verdict: Pass}, {Name: "c", Verdict: Fail}, {Name: "d", Verdict: Pass}}
	if err := list.Check(io.Discard, listed); err != nil {
		t.Fatal(err)
	}
	list.Match = func(name string) bool { return name == "c" }
	if err := list.Check(io.Discard, []Result{{Name: "c", Verdict: Pass}}); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(listed)
	want[2].Verdict = Pass
	got, err := ReadList(list.Path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	list.Update = false
	if err := list.Check(io.Discard, []Result{{Name: "c", Verdict: Fail}}); err == nil {
		t.Error("a difference is not an error")
	}
}
