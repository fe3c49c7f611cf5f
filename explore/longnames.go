package explore

import (
	"strings"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
)

// longName is the length of long names of custom resources: the longest value of a label, and the longest
// name of a Service. A name that an operator derives from it may be too long. Names may have 253 characters,
// but then no operator could derive names with a suffix.
const longName = 63

// withLongName returns a seed whose custom resource has a long name; nil: its own name is as long.
func (s *seed) withLongName() *seed {
	name := s.object.GetName()
	if len(name) >= longName {
		return nil
	}
	name += "-" + strings.Repeat("x", longName-len(name)-1)
	long := s.withNeighbor(name)
	long.neighbor = s.withNeighbor(name[:longName-1] + "y") // equal to the name if both are truncated
	return long
}

// longNames runs the trials with long names.
func (e *operatorExploration) longNames() {
	var made []trial
	for _, s := range e.longSeeds {
		made = append(made, trial{seed: s, steps: []generate.Step{create, restart, remove}}, trial{seed: s, steps: []generate.Step{create, neighbor, remove}})
	}
	e.runAll(e.inShard(made))
}
