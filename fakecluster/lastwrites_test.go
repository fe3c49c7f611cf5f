package fakecluster_test

import (
	"testing"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// A number of writes that is not positive asks for none.
func TestLastWritesOfANegativeNumber(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(cronTabDefinition()))
	create(t, inDefault(c), cronTab("a"))
	for most, want := range map[int]int{-1: 0, 0: 0, 1: 1, 100: 1} {
		if got := c.LastWrites(most); len(got) != want {
			t.Errorf("LastWrites(%d) returns %q", most, got)
		}
	}
}
