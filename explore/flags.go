package explore

import (
	"flag"
	"runtime"
	"time"
)

// The flags of go test for [Operator].
var (
	timeFlag     = flag.Duration("explore.time", 0, "explore.Operator: run trials for this `time`, such as 10m, instead of Subject.Trials, and report the progress")
	seedFlag     = flag.Uint64("explore.seed", 0, "explore.Operator: the `seed` of random sequences, in place of Subject.Seed")
	parallelFlag = flag.Int("explore.parallel", runtime.GOMAXPROCS(0), "explore.Operator: how many trials run at the same time; `n`")
	junitFlag    = flag.String("explore.junit", "", "explore.Operator: write the result as JUnit to this `folder`, a file for each test")
	shardFlag    shard
	replayFlag   = flag.String("explore.replay", "", "explore.Operator: run only this `trial`, as a report shows it")
)

func init() {
	flag.Var(&shardFlag, "explore.shard", "explore.Operator: run only a part of the trials, such as `3/8`; the parts are 0/8 to 7/8")
}

// takeFlags overrides fields of the subject by the flags.
func (s *Subject) takeFlags() {
	if *seedFlag != 0 {
		s.Seed = *seedFlag
	}
	if *replayFlag != "" {
		s.Replay = *replayFlag
	}
}

// progressPeriod is how often a long exploration reports its progress.
const progressPeriod = 10 * time.Second
