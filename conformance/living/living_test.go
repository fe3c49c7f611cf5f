package main

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fakecluster/fakecluster/conformance/living/history"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// attempts is how often a history is played until it leaves what the real control plane has left. What controllers do at the same
// moment comes in an order of chance, in a real cluster and in a bubble; the texts do not mask all that follows from it.
const attempts = 5

// TestRecordedHistories plays the histories that are written by hand, and compares what they leave with what the real control plane
// has left when living.txt was written. With -short it plays every fourth one.
func TestRecordedHistories(t *testing.T) {
	t.Chdir("..")
	playRecorded(t, 4, playInBubble)
}

// playRecorded plays histories by a function, which is called in a bubble. With -short it plays one of some.
func playRecorded(t *testing.T, some int, play func(t *testing.T, h history.History) (string, error)) {
	listed, err := verdict.ReadList(list.Path)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]verdict.Verdict{}
	for _, r := range listed {
		verdicts[r.Name] = r.Verdict
	}
	t.Run("histories", func(t *testing.T) {
		for i, h := range history.Fixed() {
			if testing.Short() && i%some != 0 {
				continue
			}
			t.Run(h.Name, func(t *testing.T) {
				real, err := os.ReadFile(recording(h))
				if err != nil {
					t.Fatalf("%v; go run ./living -update writes it", err)
				}
				diff := "it has not been played"
				for i := 0; i < attempts && diff != ""; i++ {
					synctest.Test(t, func(t *testing.T) {
						ours, err := play(t, h)
						if err != nil {
							t.Fatal(err)
						}
						if diff, err = difference(string(real), ours); err != nil {
							t.Fatal(err)
						}
					})
				}
				switch want := verdicts[h.Name]; {
				case want == verdict.Pass && diff != "":
					t.Errorf("fakecluster is left differently than the real control plane, %d times:\n%s%s", attempts, h, diff)
				case want == verdict.Fail && diff == "":
					t.Errorf("%s says that it differs", list.Path)
				case want == "":
					t.Errorf("%s does not have it", list.Path)
				}
			})
		}
	})
}

// TestRandomHistoriesFollowFromTheirSeeds also plays one, which has to become quiet.
func TestRandomHistoriesFollowFromTheirSeeds(t *testing.T) {
	first, again := history.Random([]uint64{1, 2}), history.Random([]uint64{1, 2})
	if first[0].String() != again[0].String() || first[1].String() != again[1].String() {
		t.Errorf("the same seeds make\n%s\nand\n%s", first, again)
	}
	if first[0].String() == first[1].String() {
		t.Errorf("two seeds make\n%s", first[0])
	}
	synctest.Test(t, func(t *testing.T) {
		text, err := playInBubble(t, first[0])
		if err != nil || strings.Contains(text, "does not become quiet") {
			t.Errorf("%v\n%s", err, text)
		}
	})
}
