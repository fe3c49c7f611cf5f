package explore

import (
	"flag"
	"fmt"
	"runtime"
	"time"
)

// flags are the flags of go test for [Operator].
type flags struct {
	time     time.Duration
	seed     uint64
	parallel int
	junit    string
	shard    shard
	replay   string
	wrong    error // what is wrong with them
}

// The names of the flags. Package explore of module remote has the same, and one process may have both packages: the flags are those of the first one.
const (
	timeFlag     = "explore.time"
	seedFlag     = "explore.seed"
	parallelFlag = "explore.parallel"
	junitFlag    = "explore.junit"
	shardFlag    = "explore.shard"
	replayFlag   = "explore.replay"
)

func init() {
	if flag.Lookup(timeFlag) != nil {
		return
	}
	flag.Duration(timeFlag, 0, "explore.Operator: run trials for this `time`, such as 10m, instead of Subject.Trials, and report the progress")
	flag.Uint64(seedFlag, 0, "explore.Operator: the `seed` of random sequences, in place of Subject.Seed")
	flag.Int(parallelFlag, runtime.GOMAXPROCS(0), "explore.Operator: how many trials run at the same time; `n`")
	flag.String(junitFlag, "", "explore.Operator: write the result as JUnit to this `folder`, a file for each test")
	flag.String(shardFlag, "", "explore.Operator: run only a part of the trials, such as `3/8`; the parts are 0/8 to 7/8")
	flag.String(replayFlag, "", "explore.Operator: run only this `trial`, as a report shows it")
}

// given returns the flags of this process.
func given() flags {
	f := flags{time: value[time.Duration](timeFlag), seed: value[uint64](seedFlag), parallel: value[int](parallelFlag), junit: value[string](junitFlag), replay: value[string](replayFlag)}
	f.setShard(value[string](shardFlag))
	return f
}

// value returns the value of a flag.
func value[T any](name string) T {
	return flag.Lookup(name).Value.(flag.Getter).Get().(T)
}

// setShard sets the shard by its text; empty: all trials.
func (f *flags) setShard(text string) {
	if text == "" {
		return
	}
	if err := f.shard.set(text); err != nil {
		f.wrong = fmt.Errorf("-explore.shard is %q: %w", text, err)
	}
}

// takeFlags overrides fields of the subject by the flags.
func (s *Subject) takeFlags(f flags) {
	if f.seed != 0 {
		s.Seed = f.seed
	}
	if f.replay != "" {
		s.Replay = f.replay
	}
}

// progressPeriod is how often a long exploration reports its progress.
const progressPeriod = 10 * time.Second
