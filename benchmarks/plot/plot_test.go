package main

import (
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const measured = `measured: on 2026-07-01 at 0123abc (Make writes faster)
goos: linux
BenchmarkLife/CronTab/create/http-2        100  300000 ns/op  1000 cluster-B/op  20.00 cluster-allocs/op  200000 floor-ns/op  1.749 x-floor  1.620 x-floor-p25
BenchmarkLife/CronTab/create/in-process-2  100  200000 ns/op  1000 cluster-B/op  20.00 cluster-allocs/op  100000 floor-ns/op  2.200 x-floor  1.900 x-floor-p25
BenchmarkLife/CronTab/get/http-2           100  100000 ns/op  1000 cluster-B/op  20.00 cluster-allocs/op  100000 floor-ns/op  1.049 x-floor  1.000 x-floor-p25
BenchmarkLife/CronTab/get/in-process-2     100   50000 ns/op  1000 cluster-B/op  20.00 cluster-allocs/op   50000 floor-ns/op  0.990 x-floor  1.000 x-floor-p25
BenchmarkLife/Certificate/create/http-2        100  300000 ns/op  1000 cluster-B/op  20.00 cluster-allocs/op  200000 floor-ns/op  1.500 x-floor  1.620 x-floor-p25
BenchmarkLife/Certificate/create/in-process-2  100  200000 ns/op  2000 cluster-B/op  30.00 cluster-allocs/op  100000 floor-ns/op  1.900 x-floor  1.900 x-floor-p25
BenchmarkLife/Certificate/get/http-2           100  100000 ns/op  1000 cluster-B/op  20.00 cluster-allocs/op  100000 floor-ns/op  1.000 x-floor  1.000 x-floor-p25
BenchmarkLife/Certificate/get/in-process-2     100   12000000 ns/op  1000 cluster-B/op  20.00 cluster-allocs/op   50000 floor-ns/op  0.990 x-floor  1.000 x-floor-p25
PASS
BenchmarkReconcile/fakecluster-2   100  600000 ns/op
BenchmarkReconcile/fakecluster-in-process-2   100  400000 ns/op
BenchmarkReconcile/controller-runtime-fake-2   100  4000000 ns/op
BenchmarkReconcile/envtest   	--- SKIP: BenchmarkReconcile/envtest
`

func parsed(t *testing.T) *results {
	t.Helper()
	r, err := parse(strings.NewReader(measured))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func equal(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Operations are in the order of the budget; what is above it is bold; figures count
// as they are shown.
func TestTables(t *testing.T) {
	equal(t, `Measured on 2026-07-01 at 0123abc (Make writes faster).

| × the floor, HTTP / in process | budget | CronTab | Certificate |
|---|---|---|---|
| get | 1.3 / 1.3 | 1.0 / 1.0 | 1.0 / 1.0 |
| create | 1.8 / 2.1; built-in 2.7 / 3.0 | 1.7 / **2.2** | 1.5 / 1.9 |

| Certificate | HTTP | its floor | in process | its floor | the cluster allocates |
|---|---|---|---|---|---|
| get | 100 µs | 100 µs | 12 ms | 50 µs | 1 KB in 20 |
| create | 300 µs | 200 µs | 200 µs | 100 µs | 2 KB in 30 |

| one pass of a controller | time |
|---|---|
| fakecluster | 600 µs |
| fakecluster, in process | 400 µs |
| controller-runtime's fake client | 4000 µs |
`, parsed(t).tables())
}

func TestVerdicts(t *testing.T) {
	equal(t, `get                  1.3 / 1.3  holds
create               1.8 / 2.1; built-in 2.7 / 3.0  does not hold
  CronTab in-process 2.2 (first quartile 1.9)
`, parsed(t).verdicts())
}

func TestWritesOfBuiltInKindsHaveABudgetOfTheirOwn(t *testing.T) {
	for _, test := range []struct {
		kind, operation string
		want            [2]float64
	}{
		{"Certificate", "create", [2]float64{1.8, 2.1}},
		{"Pod", "create", [2]float64{2.7, 3}},
		{"Deployment", "merge-patch-status", [2]float64{2.7, 3}},
		{"Pod", "apply", [2]float64{3.2, 3.5}},
		{"Deployment", "get", [2]float64{1.3, 1.3}},
	} {
		row := rowOf(test.operation)
		if got := [2]float64{row.limit(test.kind, 0), row.limit(test.kind, 1)}; got != test.want {
			t.Errorf("%s of a %s: %v, want %v", test.operation, test.kind, got, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a run without life": {"PASS\n", "no figures of BenchmarkLife"},
		"a gap":              {strings.Join(strings.SplitAfter(measured, "\n")[:3], ""), "create of CronTab, in-process, was not measured"},
		"no number":          {"BenchmarkLife/CronTab/get/http-2 100 many ns/op\n", `BenchmarkLife/CronTab/get/http-2: strconv.ParseFloat: parsing "many": invalid syntax`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(strings.NewReader(test.text))
			if err == nil {
				t.Fatal("no error")
			}
			equal(t, test.want, err.Error())
		})
	}
}

func TestTablesReplaceWhatStandsBetweenTheMarkers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + begins + "old\n" + ends + "after\n")
	if err := replaceBetweenMarkers(path, "new\n"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "before\n"+begins+"new\n"+ends+"after\n", string(text))

	write("before\n" + begins + "old\n")
	if err := replaceBetweenMarkers(path, "new\n"); err == nil {
		t.Error("a file without the second marker was written")
	}
}

func TestDrawWritesBothFormats(t *testing.T) {
	folder := t.TempDir()
	paths := []string{filepath.Join(folder, "life.svg"), filepath.Join(folder, "life.png")}
	if err := draw(parsed(t), paths...); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "Certificate", "budget", "over HTTP", "in process"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the SVG does not say %q", want)
		}
	}
	f, err := os.Open(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}
}
