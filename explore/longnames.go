package explore

import (
	"strings"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
)

// longName is how long the names of some custom resources are: as long as a label and the name of a Service may be. What an operator derives from such a
// name may be too long. Names may have 253 characters, but then an operator that adds a suffix to them has no name for its children at all.
const longName = 63

// withLongName returns a seed whose custom resource has a long name; nil: it has one of its own that is as long.
func (s *seed) withLongName() *seed {
	name := s.object.GetName()
	if len(name) >= longName {
		return nil
	}
	name += "-" + strings.Repeat("x", longName-len(name)-1)
	long := s.withNeighbor(name)
	long.neighbor = s.withNeighbor(name[:longName-1] + "y") // which is the same if it is cut off
	return long
}

// longNames runs what happens to custom resources with long names.
func (e *operatorExploration) longNames() {
	var made []trial
	for _, s := range e.longSeeds {
		made = append(made, trial{seed: s, steps: []generate.Step{create, restart, remove}}, trial{seed: s, steps: []generate.Step{create, neighbor, remove}})
	}
	e.runAll(ofShard(made))
}
