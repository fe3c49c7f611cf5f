package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/conformance/living/history"
	"github.com/fakecluster/fakecluster/conformance/living/play"
	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestRecordedHistoriesThroughRemote plays the same histories in bubbles whose clusters are in another process. With -short it plays every
// twelfth one.
func TestRecordedHistoriesThroughRemote(t *testing.T) {
	t.Chdir("..")
	useProgram(t)
	outside := remote.Start(t)
	playRecorded(t, 12, func(t *testing.T, h history.History) (string, error) {
		return playThroughRemote(t, outside, h)
	})
}

// playThroughRemote plays a history in the bubble of t, in a cluster in another process.
func playThroughRemote(t *testing.T, outside *remote.Cluster, h history.History) (text string, err error) {
	c := outside.Fork(t)
	config, err := json.Marshal(map[string]any{"nodes": history.Nodes, "behaviors": append([]workloads.Behavior{}, h.Behaviors()...)})
	if err != nil {
		return "", err
	}
	if err := c.RunWorkloads(string(config)); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, mistakes(c.EndWorkloads())) }()
	client := &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}
	return play.Play(t.Context(), client, "history-0000", h, func(_ context.Context, node string, how history.Fault) error {
		switch n := c.Node(node); how {
		case history.StopHeartbeats:
			return n.StopHeartbeats()
		case history.ResumeHeartbeats:
			return n.ResumeHeartbeats()
		case history.DiskIsFull, history.DiskIsFree:
			return n.SetPressure("DiskPressure", how == history.DiskIsFull)
		}
		return fmt.Errorf("no Node breaks by %q", how)
	})
}

// useProgram builds the program fakecluster, unless the environment variable FAKECLUSTER names it, and gives module remote a cache folder, and so a
// host, of its own. The working directory is that of the module.
func useProgram(t *testing.T) {
	t.Helper()
	folder, err := os.MkdirTemp("", "fc-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if os.Getenv("FAKECLUSTER") == "" { // .ci/run has built it
		path := filepath.Join(folder, "bin", "fakecluster") // the cache has a folder fakecluster
		build := exec.Command("go", "build", "-o", path, "./cmd/fakecluster")
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building fakecluster: %v\n%s", err, out)
		}
		t.Setenv("FAKECLUSTER", path)
	}
	t.Setenv("XDG_CACHE_HOME", folder)
}
