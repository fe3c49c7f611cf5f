package explore

import (
	"io"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/internal/junit"
)

// WriteJUnit writes the result as the XML of JUnit, which CI systems read: a suite with the name of the test,
// and in it a test for each oracle, which fails with the reports of its findings. The type of a failure is
// the name of the finding's file in testdata/explore, and the property explore.shard is the flag of that
// name. Each property explore.similar is one of Found.Similar. An oracle that did not apply is skipped. It
// fails if the writer fails. [Operator] and [Upgrade] write it to the folder of the flag -explore.junit.
func (found Found) WriteJUnit(w io.Writer, test string) error {
	s := junit.Suite{Name: test}
	if found.Shard != "" {
		s.Properties = []junit.Property{{Name: "explore.shard", Value: found.Shard}}
	}
	for _, similar := range found.Similar {
		s.Properties = append(s.Properties, junit.Property{Name: "explore.similar", Value: similar})
	}
	for _, o := range found.oracles {
		c := junit.Case{Class: test, Name: string(o)}
		for _, f := range found.Findings {
			if f.Oracle == o {
				c.Failures = append(c.Failures, junit.Text{Message: f.What, Type: f.file(), Text: f.Report})
			}
		}
		if i := slices.IndexFunc(found.Unchecked, func(why string) bool { return strings.HasPrefix(why, string(o)+",") }); i >= 0 {
			c.Skipped = &junit.Text{Message: found.Unchecked[i]}
		}
		s.Cases = append(s.Cases, c)
	}
	return junit.Write(w, s)
}
