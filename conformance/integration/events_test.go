package integration

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// events writes a test's events, one for each "action test output".
func events(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		part := strings.SplitN(line, " ", 3)
		e := event{Action: part[0], Test: part[1]}
		if len(part) == 3 {
			e.Output = part[2] + "\n"
		}
		encoded, _ := json.Marshal(e)
		b.Write(append(encoded, '\n'))
	}
	return b.String()
}

func TestReadEvents(t *testing.T) {
	for _, c := range []struct {
		rule   string
		events string
		want   []verdict.Result
	}{
		{"a test that passes is one result, whatever its subtests",
			events("pass TestA/one", "pass TestA"),
			[]verdict.Result{{Name: "TestA", Verdict: verdict.Pass}}},
		{"the last thing logged is the reason, klog aside",
			events("output TestA     a_test.go:1: first", "output TestA     a_test.go:2: last",
				"output TestA     a_test.go:3: I1121 05:57:13.291931] noise", "fail TestA"),
			[]verdict.Result{{Name: "TestA", Verdict: verdict.Fail, Reason: "last"}}},
		{"an assertion of testify is the reason, and not where it stands",
			events("output TestA     a_test.go:1: ", "output TestA         \tError Trace:\t/a_test.go:1", "output TestA         \tError:      \tReceived unexpected error:",
				"output TestA         \t            \tcontext deadline exceeded", "output TestA         \tTest:       \tTestA", "fail TestA"),
			[]verdict.Result{{Name: "TestA", Verdict: verdict.Fail, Reason: "Received unexpected error: context deadline exceeded"}}},
		{"a failure is blamed on the subtest, and only leaves are listed",
			events("pass TestA/ok", "output TestA/no/deep     a_test.go:2: wrong", "fail TestA/no/deep", "fail TestA/no", "fail TestA"),
			[]verdict.Result{
				{Name: "TestA", Verdict: verdict.Fail, Reason: "wrong"},
				{Name: "TestA/no/deep", Verdict: verdict.Fail, Reason: "wrong"},
			}},
		{"a refusal of the fixture makes the test not applicable",
			events("output TestA     a_test.go:1: rpc error: not applicable: reads etcd", "output TestA     a_test.go:2: nil", "fail TestA"),
			[]verdict.Result{{Name: "TestA", Verdict: verdict.NotApplicable, Reason: "reads etcd"}}},
		{"a test that only its refused subtests fail is not applicable",
			events("output TestA/x     a_test.go:1: not applicable: reads etcd", "fail TestA/x", "fail TestA"),
			[]verdict.Result{{Name: "TestA", Verdict: verdict.NotApplicable, Reason: "reads etcd"}}},
		{"what a subtest says of its server holds for the subtests in it",
			events("output TestA/on     a_test.go:1: not applicable: feature gate", "output TestA/on/x     a_test.go:1: got JSON", "fail TestA/on/x", "fail TestA/on",
				"output TestA/off/x     a_test.go:1: wrong", "fail TestA/off/x", "fail TestA/off", "fail TestA"),
			[]verdict.Result{
				{Name: "TestA", Verdict: verdict.Fail, Reason: "wrong"},
				{Name: "TestA/off/x", Verdict: verdict.Fail, Reason: "wrong"},
				{Name: "TestA/on/x", Verdict: verdict.NotApplicable, Reason: "feature gate"},
			}},
		{"a test that panics or hangs has no outcome and fails",
			events("output TestA panic: test timed out after 1m15s", "output TestA goroutine 1"),
			[]verdict.Result{{Name: "TestA", Verdict: verdict.Fail, Reason: "panic: test timed out after 1m15s"}}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, err := readEvents(strings.NewReader(c.events), test{folder: ".", name: "TestA"}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestFunction(t *testing.T) {
	for result, want := range map[string]string{
		"TestA":                    "TestA",
		"TestA/sub/Test":           "TestA",
		"conversion/TestA":         "conversion/TestA",
		"conversion/TestA/sub/sub": "conversion/TestA",
	} {
		if got := Function(result); got != want {
			t.Errorf("Function(%q) = %q, want %q", result, got, want)
		}
	}
}

func TestResults(t *testing.T) {
	got, err := Results(strings.NewReader(`{"Action":"pass","Test":"TestA","Elapsed":1.5}
{"Action":"pass","Test":"TestB/ok"}
{"Action":"output","Test":"TestB/no","Output":"    b_test.go:1: wrong\n"}
{"Action":"fail","Test":"TestB/no"}
{"Action":"fail","Test":"TestB"}
{"Action":"output","Test":"TestBee","Output":"    b_test.go:2: no Docker\n"}
{"Action":"skip","Test":"TestBee"}
{"Action":"output","Test":"TestC","Output":"    c_test.go:3: where it hangs\n"}
`), "cluster-api/x: ")
	if err != nil {
		t.Fatal(err)
	}
	want := []verdict.Result{
		{Name: "cluster-api/x: TestA", Verdict: verdict.Pass, Time: 1500 * time.Millisecond},
		{Name: "cluster-api/x: TestB", Verdict: verdict.Fail, Reason: "wrong"},
		{Name: "cluster-api/x: TestB/no", Verdict: verdict.Fail, Reason: "wrong"},
		{Name: "cluster-api/x: TestBee", Verdict: verdict.NotApplicable, Reason: "skips itself: no Docker"},
		{Name: "cluster-api/x: TestC", Verdict: verdict.Fail, Reason: "where it hangs"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := Results(strings.NewReader(`{"Action":"output","Output":"unable to start the control plane\n"}`), ""); err == nil || err.Error() != "no test ran: unable to start the control plane\n" {
		t.Errorf("a process that ran no test: %v", err)
	}
}
