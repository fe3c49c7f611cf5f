package explore

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
)

// shard is a part of the trials, for one of several processes that explore the same operator. index is from 0
// to count−1. The zero value means all trials.
type shard struct{ index, count int }

// set sets the shard by a text such as 3/8.
func (s *shard) set(text string) error {
	index, count, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(index)
	n, countErr := strconv.Atoi(count)
	switch {
	case err != nil || countErr != nil || n < 1:
		return fmt.Errorf("write a shard and the number of shards, such as 3/8")
	case i < 0 || i >= n:
		return fmt.Errorf("the shards of %d are 0/%d to %d/%d", n, n, n-1, n)
	}
	*s = shard{i, n}
	return nil
}

// String returns the text; empty: all trials.
func (s *shard) String() string {
	if s.count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.index, s.count)
}

// has reports whether a key belongs to the shard. Each key belongs to exactly one of the shards.
func (s shard) has(key string) bool {
	if s.count < 2 {
		return true
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key))
	return int(hash.Sum32()%uint32(s.count)) == s.index
}

// changes returns the changes that this shard tries, and those of other shards, which its random sequences
// contain, too. All values of a property are tried in the same shard, so that it can find out whether one of
// them has an effect.
func (s shard) changes(changes []generate.Change) (here, elsewhere []generate.Change) {
	var paths []string
	for _, c := range changes {
		path := c.Steps[0].Path
		i := slices.Index(paths, path)
		if i < 0 {
			i = len(paths)
			paths = append(paths, path)
		}
		if s.count < 2 || i%s.count == s.index {
			here = append(here, c)
		} else {
			elsewhere = append(elsewhere, c)
		}
	}
	return here, elsewhere
}

// inShard returns the trials of this shard.
func (e *operatorExploration) inShard(trials []trial) (kept []trial) {
	for _, tr := range trials {
		if e.t.shard.has(tr.String()) {
			kept = append(kept, tr)
		}
	}
	return kept
}
