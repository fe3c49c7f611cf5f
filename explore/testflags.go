package explore

import (
	"flag"
	"runtime"
)

// The flags of go test. One process may have package explore of the main module and that of module remote: the flags
// are those of the first one.
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

// value returns the value of a flag.
func value[T any](name string) T {
	return flag.Lookup(name).Value.(flag.Getter).Get().(T)
}
