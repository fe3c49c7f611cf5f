package main

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// TestARealServerAnsweredLikewise plays what "go run ./random -record 5000" has recorded. It does so in a bubble, so that a watch
// of a second takes no time.
func TestARealServerAnsweredLikewise(t *testing.T) {
	webhooks := play.NewWebhooks() // sockets, and so outside of the bubble
	defer webhooks.Close()
	recordings := read(t, func(name string) bool { return !strings.HasPrefix(name, "admission") })
	synctest.Test(t, func(t *testing.T) { replay(t, webhooks, recordings) })
}

// TestARealServerCalledWebhooksLikewise plays those of the recorded histories in which the server calls webhooks, which have sockets.
func TestARealServerCalledWebhooksLikewise(t *testing.T) {
	webhooks := play.NewWebhooks()
	defer webhooks.Close()
	replay(t, webhooks, read(t, func(name string) bool { return name == "setup" || strings.HasPrefix(name, "admission") }))
}

// read reads the recorded histories whose names match.
func read(t *testing.T, matches func(name string) bool) []play.Recording {
	t.Chdir("..") // as the command
	recordings, err := play.ReadRecordings(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var chosen []play.Recording
	for _, r := range recordings {
		if matches(r.Name) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// replay plays histories on a new cluster. If one is answered in another way by chance, as a reason says, it has to be answered as recorded on one of
// several more clusters, after the setup alone.
func replay(t *testing.T, webhooks *play.Webhooks, recordings []play.Recording) {
	exchanges := 0
	var setup []play.Recording
	for i, difference := range playAll(t, webhooks, recordings) {
		r := recordings[i]
		if r.Name == "setup" {
			setup = append(setup, r)
		}
		exchanges += len(r.Exchanges)
		for range mostPlays {
			if difference == nil || reason(difference) == "" {
				break
			}
			difference = playAll(t, webhooks, append(slices.Clip(setup), r))[len(setup)]
		}
		if difference != nil {
			t.Errorf("%s: the real server answered differently\n%s", r.Name, difference)
		}
	}
	t.Logf("%d requests of %d histories", exchanges, len(recordings))
}

// mostPlays is how many more clusters may answer a history.
const mostPlays = 30

// playAll plays histories on a new cluster, and returns the first difference of each.
func playAll(t *testing.T, webhooks *play.Webhooks, recordings []play.Recording) (differences []*play.Difference) {
	t.Helper()
	cluster, err := startOurs()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	server, err := play.NewServer("ours", cluster.RESTConfig(), webhooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recordings {
		difference, err := play.Replay(t.Context(), server, r)
		if err != nil {
			t.Fatal(err)
		}
		differences = append(differences, difference)
	}
	return differences
}
