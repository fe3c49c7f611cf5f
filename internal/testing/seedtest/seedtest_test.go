package seedtest

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

// recorder is a test that notes what it logs and whether it fails.
type recorder struct {
	testing.TB
	name     string
	logged   []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Name() string     { return r.name }
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Log(args ...any)  { r.logged = append(r.logged, fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any) {
	r.logged = append(r.logged, "FATAL "+fmt.Sprint(args...))
}

func (r *recorder) end() {
	for _, f := range r.cleanups {
		f()
	}
}

// give sets -seed for one test.
func give(t *testing.T, seed uint64) {
	before := *given
	*given = seed
	t.Cleanup(func() { *given = before })
}

func TestTheGivenSeedRepeatsATest(t *testing.T) {
	give(t, 0)
	first := &recorder{TB: t, name: "TestX/a_case_(1)"}
	seed := Seed(first)
	want := fmt.Sprintf(`seed %d; to repeat: -run '^TestX$/^a_case_\(1\)$' -seed %d`, seed, seed)
	if len(first.logged) != 1 || first.logged[0] != want {
		t.Errorf("logged %q, want %q", first.logged, want)
	}

	give(t, seed)
	if again := Seed(&recorder{TB: t, name: "TestX"}); again != seed {
		t.Errorf("with -seed %d the seed is %d", seed, again)
	}
	numbers := Source(seed, 0).Perm(100)
	if got := Rand(&recorder{TB: t, name: "TestY"}).Perm(100); fmt.Sprint(got) != fmt.Sprint(numbers) {
		t.Errorf("Rand is not the first source of the seed: %v, want %v", got, numbers)
	}
}

func TestTheSeedIsOneByDefault(t *testing.T) {
	if f := flag.Lookup("seed"); f.DefValue != "1" {
		t.Errorf("-seed is %s by default", f.DefValue)
	}
}

func TestWithSeedZeroEachTestHasItsOwn(t *testing.T) {
	give(t, 0)
	if a, b := Seed(&recorder{TB: t}), Seed(&recorder{TB: t}); a == b {
		t.Errorf("both tests have the seed %d", a)
	}
}

func TestSourcesOfOneSeedDiffer(t *testing.T) {
	if a, b := Source(1, 0).Perm(100), Source(1, 1).Perm(100); fmt.Sprint(a) == fmt.Sprint(b) {
		t.Errorf("both sources give %v", a)
	}
}

func TestATestThatGetsItsSeedTwiceFails(t *testing.T) {
	r := &recorder{TB: t, name: "TestX"}
	Seed(r)
	Rand(r)
	if len(r.logged) < 2 || !strings.HasPrefix(r.logged[1], "FATAL seedtest: the test gets its seed twice") {
		t.Errorf("the second call does not fail: %q", r.logged)
	}
	r.end()
	r.logged = nil
	if Seed(r); len(r.logged) != 1 {
		t.Errorf("the same test, run again, cannot ask: %q", r.logged)
	}
}
