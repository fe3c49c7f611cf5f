package main

import (
	"testing"
	"testing/synctest"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// recorded is what a real kube-apiserver answered. "go run ./random -record 5000" writes it.
const recorded = "random/testdata/recorded.jsonl.gz"

// TestTheRealServerAnsweredLikewise plays the recorded histories in a bubble, so that a watch of a second takes no time.
func TestTheRealServerAnsweredLikewise(t *testing.T) {
	t.Chdir("..")
	recordings, err := play.ReadRecordings(recorded)
	if err != nil {
		t.Fatal(err)
	}
	webhooks := play.NewWebhooks() // sockets, and so outside of the bubble
	defer webhooks.Close()
	synctest.Test(t, func(t *testing.T) {
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
		exchanges := 0
		for _, r := range recordings {
			exchanges += len(r.Exchanges)
			difference, err := play.Replay(t.Context(), server, r)
			if err != nil {
				t.Fatal(err)
			}
			if difference != nil {
				t.Errorf("%s: the real server answered differently\n%s", r.Name, difference)
			}
		}
		t.Logf("%d exchanges of %d histories", exchanges, len(recordings))
	})
}
