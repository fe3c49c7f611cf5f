package junit_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/junit"
)

func suite(shard string, cases ...junit.Case) junit.Suite {
	return junit.Suite{Name: "TestOperator", Properties: []junit.Property{{Name: "shard", Value: shard}}, Cases: cases}
}

// A suite that is written is read as it was.
func TestReadIsWhatWasWritten(t *testing.T) {
	want := []junit.Suite{
		suite("0/2", junit.Case{Class: "C", Name: "fails", Failures: []junit.Text{{Message: "m <&>", Type: "t", Text: "two\nlines"}}}),
		{Name: "Other", Cases: []junit.Case{{Class: "C", Name: "skipped", Skipped: &junit.Text{Message: "why"}}}},
	}
	var b bytes.Buffer
	if err := junit.Write(&b, want...); err != nil {
		t.Fatal(err)
	}
	got, err := junit.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := junit.Read(strings.NewReader("<html/>")); err == nil || err.Error() != "not a JUnit file of test suites: expected element type <testsuites> but have <html>" {
		t.Error(err)
	}
}

func TestMerge(t *testing.T) {
	failure := func(message string) junit.Text { return junit.Text{Message: message} }
	skipped := &junit.Text{Message: "why"}
	got := junit.Merge(
		suite("0/2",
			junit.Case{Class: "C", Name: "fails", Failures: []junit.Text{failure("a")}},
			junit.Case{Class: "C", Name: "skipped here", Skipped: skipped},
			junit.Case{Class: "C", Name: "skipped", Skipped: skipped}),
		junit.Suite{Name: "Other"},
		suite("1/2",
			junit.Case{Class: "C", Name: "fails", Failures: []junit.Text{failure("a"), failure("b")}},
			junit.Case{Class: "C", Name: "skipped here"},
			junit.Case{Class: "C", Name: "skipped", Skipped: skipped}))
	want := []junit.Suite{
		{Name: "TestOperator", Properties: []junit.Property{{Name: "shard", Value: "0/2"}, {Name: "shard", Value: "1/2"}}, Cases: []junit.Case{
			{Class: "C", Name: "fails", Failures: []junit.Text{failure("a"), failure("b")}},
			{Class: "C", Name: "skipped here"},
			{Class: "C", Name: "skipped", Skipped: skipped},
		}},
		{Name: "Other"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
