package workloads_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestLivingClustersOfOlderVersions runs a test in a process of each older version, in which some kinds are not served.
func TestLivingClustersOfOlderVersions(t *testing.T) {
	for _, version := range release.Names()[:len(release.Names())-1] {
		t.Run(version, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestADeploymentRuns$", "-test.timeout=2m")
			child.Env = append(os.Environ(), "FAKECLUSTER_KUBERNETES_VERSION="+version)
			if output, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
}

func TestADeploymentRuns(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(workload("apps/v1", "Deployment", "web", "replicas: 2"))
		w.pass(5 * time.Second)
		var ready, pods int
		for _, pod := range w.list("pods") {
			pods++
			if condition(&pod, "Ready") == "True" {
				ready++
			}
		}
		if ready != 2 || pods != 2 {
			w.Errorf("%d of %d Pods are ready", ready, pods)
		}
	}, workloads.Nodes(1), workloads.Image("other", func(context.Context, *workloads.Container) error { return nil }))
}
