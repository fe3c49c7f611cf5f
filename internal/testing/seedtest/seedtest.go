// Package seedtest gives random tests a seed that they print and that repeats them.
//
//	func TestKeysSort(t *testing.T) {
//		random := seedtest.Rand(t)
//		...
//	}
//
// The seed is 1 unless -seed gives another, so that a run on the same code does the same again: a change
// is tested by what it does and not by what was drawn. With -seed 0 each test draws a new seed, which is how
// new cases are found:
//
//	go test ./store -run '^TestKeysSort$' -seed 0 -count 100
//
// The test logs its seed. When it fails, its log shows how to run it again with the same one:
//
//	seed 81985529216486895; to repeat: -run '^TestKeysSort$' -seed 81985529216486895
//
// A test gets its seed once, because -seed gives the same seed to every call. A test
// that needs several sources, one for each goroutine for example, takes the seed and
// makes them with [Source]:
//
//	seed := seedtest.Seed(t)
//	for n := range 8 {
//		go write(seedtest.Source(seed, n))
//	}
//
// The seed decides what each goroutine does. It does not decide how the scheduler
// interleaves them, so a test of a race may need several attempts with its seed.
//
// The flag exists in test binaries that import this package. Name the package under test
// when you give it: go test refuses -seed for a package whose tests do not define it.
package seedtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var given = flag.Uint64("seed", 1, "the `seed` of random tests; 0 draws a new one for each test")

// seeded holds the running tests that have got their seed.
var seeded sync.Map

// Seed returns the seed of a test and logs it: the one given with -seed, which is 1 by default, or a
// new one with -seed 0. A test that gets it twice fails, because -seed could not repeat it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	if _, twice := seeded.LoadOrStore(t, true); twice {
		t.Fatal("seedtest: the test gets its seed twice, so -seed cannot repeat it; use Source")
	}
	t.Cleanup(func() { seeded.Delete(t) })

	seed := *given
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Log(message(t.Name(), seed))
	return seed
}

// Rand returns the test's source of random numbers. The seed is that of [Seed], and the
// same rule holds: a test gets it once.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return Source(Seed(t), 0)
}

// Source returns the n-th source of random numbers of a seed. Sources with different
// numbers are independent of each other.
func Source(seed uint64, n int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(n))) }

// Pick returns one of several values, at random. The source is a [rand.Rand] or has one.
func Pick[T any](random interface{ IntN(n int) int }, choices ...T) T {
	return choices[random.IntN(len(choices))]
}

// message describes how to repeat a test with its seed.
func message(test string, seed uint64) string {
	names := strings.Split(test, "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return fmt.Sprintf("seed %d; to repeat: -run '%s' -seed %d", seed, strings.Join(names, "/"), seed)
}
