package integration

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

func TestOnlyWhatFailsIsBeyond(t *testing.T) {
	reasons := map[string]string{"a/TestA": "metrics of etcd", "a/TestB": "metrics of etcd", "a/TestC": "metrics of etcd"}
	got := beyond([]verdict.Result{
		{Name: "a/TestA", Verdict: verdict.Fail, Reason: "not found"},
		{Name: "a/TestA/one", Verdict: verdict.Fail, Reason: "not found"},
		{Name: "a/TestB", Verdict: verdict.Pass},
		{Name: "a/TestC", Verdict: verdict.NotApplicable, Reason: "reads etcd"},
		{Name: "a/TestD", Verdict: verdict.Fail, Reason: "wrong"},
		{Name: "a/TestD/one", Verdict: verdict.Fail, Reason: "wrong"},
	}, reasons)
	want := []verdict.Result{
		{Name: "a/TestA", Verdict: verdict.NotApplicable, Reason: "metrics of etcd"},
		{Name: "a/TestB", Verdict: verdict.Pass},
		{Name: "a/TestC", Verdict: verdict.NotApplicable, Reason: "reads etcd"},
		{Name: "a/TestD", Verdict: verdict.Fail, Reason: "wrong"},
		{Name: "a/TestD/one", Verdict: verdict.Fail, Reason: "wrong"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
