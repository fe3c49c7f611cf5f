package explore

import (
	"fmt"
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

// processFlags returns the flags of this process.
func processFlags() flags {
	f := flags{time: value[time.Duration](timeFlag), seed: value[uint64](seedFlag), parallel: value[int](parallelFlag), junit: value[string](junitFlag), replay: value[string](replayFlag)}
	f.setShard(value[string](shardFlag))
	return f
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
