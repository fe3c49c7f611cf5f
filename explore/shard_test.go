package explore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/explore"
)

// Each change of a property is tried in one of the shards, and each property in one alone.
func TestEachChangeIsTriedInOneShard(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it explores four times")
	}
	changes := func(shard string) (trials []string) {
		explore.SetShard(t, shard)
		s := gadgetOperator{}.subject()
		s.Trials = 45 // none is a random sequence
		found, tried := explore.FindTrials(t, s, 2)
		if found.Shard != shard || len(found.Findings) > 0 {
			t.Fatalf("shard %s: %s %+v", shard, found, found.Findings)
		}
		for _, tr := range tried {
			if path := undone(tr); path != "" && !slices.Contains(trials, tr) {
				trials = append(trials, tr)
			}
		}
		slices.Sort(trials)
		return trials
	}
	whole := changes("")
	var parts []string
	shardOf := map[string]int{} // by path
	for i := range 3 {
		part := changes(fmt.Sprintf("%d/3", i))
		if len(part) == 0 {
			t.Errorf("the shard %d tries no change", i)
		}
		for _, tr := range part {
			if former, tried := shardOf[undone(tr)]; tried && former != i {
				t.Errorf("the shards %d and %d try changes of %s", former, i, undone(tr))
			}
			shardOf[undone(tr)] = i
		}
		parts = append(parts, part...)
	}
	slices.Sort(parts)
	if diff := cmp.Diff(whole, parts); diff != "" {
		t.Errorf("(-without shards +all shards):\n%s", diff)
	}
}

// undone returns the path of a trial that sets a property, undoes that, and deletes the object; empty: it is another one.
func undone(tr string) (path string) {
	_, text, _ := strings.Cut(tr, ": ")
	steps := strings.Split(text, "; ")
	if len(steps) != 4 || steps[0] != "create" || !strings.HasPrefix(steps[1], "set ") || steps[3] != "delete" {
		return ""
	}
	path = strings.Fields(steps[1])[1]
	if fields := strings.Fields(steps[2]); len(fields) < 2 || fields[1] != path {
		return ""
	}
	return path
}

func TestWrongShardsAreRefused(t *testing.T) {
	for shard, want := range map[string]string{
		"8/8":  "the shards of 8 are 0/8 to 7/8",
		"-1/2": "the shards of 2 are 0/2 to 1/2",
		"3":    "write a shard and the number of shards, such as 3/8",
		"a/b":  "write a shard and the number of shards, such as 3/8",
		"0/0":  "write a shard and the number of shards, such as 3/8",
	} {
		if err := explore.CheckShard(shard); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", shard, err, want)
		}
	}
}
