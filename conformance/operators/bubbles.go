package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// bubblesList is the list that results of suites in bubbles are compared with.
var bubblesList = verdict.List{
	Path: "bubbles.txt",
	Comment: `The suites of operators with controller-runtime 0.18 (JobSet 0.6), 0.20 (JobSet 0.8), 0.22 (JobSet 0.10) and 0.24 (Training
Operator 1.9), each in a bubble of testing/synctest on a cluster of the module remote: the specs are unchanged, and wait in virtual time.
JobSet 0.6 and 0.8 run as on Kubernetes 1.34 with JobManagedBy=false, because their suites complete Jobs without what the validation of
their status wants since then.
Written by "go run ./operators -bubbles -update".`,
}

// jobsWithoutValidation makes a cluster one that takes the status of Jobs as Kubernetes did before 1.32.
var jobsWithoutValidation = []string{"FAKECLUSTER_KUBERNETES_VERSION=1.34", "FAKECLUSTER_FEATURE_GATES=JobManagedBy=false"}

// bubbled are operators whose suites run without sockets, so that a bubble can hold them. Suites of webhooks are not among them: envtest serves
// webhooks by a socket.
var bubbled = []operator{
	// controller-runtime 0.18.4
	{module: "sigs.k8s.io/jobset", version: "v0.6.0", label: "jobset-0.6", suites: []string{"test/integration/controller"}, env: jobsWithoutValidation},
	// 0.20.2
	{module: "sigs.k8s.io/jobset", version: "v0.8.2", label: "jobset-0.8", suites: []string{"test/integration/controller"}, env: jobsWithoutValidation},
	// 0.22.1
	{module: "sigs.k8s.io/jobset", version: "v0.10.1", label: "jobset-0.10", suites: []string{"test/integration/controller"}},
	// 0.24.1
	{module: "github.com/kubeflow/training-operator", version: "v1.9.4", label: "training-operator-1.9", suites: []string{"pkg/controller.v1/mpi"}},
}

// bubble is the file that is added to a suite: runInBubble runs its specs in a bubble, and bubbleConfig is what envtest gets in place of a
// control plane.
const bubble = `//go:build go1.25

//go:debug asynctimerchan=0
package %s

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fakecluster/fakecluster/remote"
	"github.com/onsi/ginkgo/v2"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Sockets do not count as waiting.
func init() { server.DefaultBindAddress = "0" }

var bubbleConfig *rest.Config

func runInBubble(t *testing.T, description string, args ...any) (passed bool) {
	defer func() {
		// A goroutine of ginkgo's waits for signals and never ends, so the bubble ends with this panic.
		if r := recover(); r != nil && !strings.HasPrefix(fmt.Sprint(r), "deadlock: main bubble goroutine has exited") {
			panic(r)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		c := remote.Start(t)
		bubbleConfig = &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}
		passed = ginkgo.RunSpecs(t, description, args...)
	})
	return passed
}
`

// changes are what a suite that runs in a bubble has in place of what it was written with.
var changes = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`(ginkgo\.)?RunSpecs\(`), "runInBubble("},
	{regexp.MustCompile(`envtest\.Environment\{`), "envtest.Environment{Config: bubbleConfig, "},
}

// runBubbles is run with operators in bubbles.
func runBubbles(ctx context.Context, w io.Writer, match *regexp.Regexp) ([]verdict.Result, error) {
	work, err := os.MkdirTemp("", "fc-") // short enough for a socket
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	return runWithRemote(ctx, w, match, bubbled, work, []string{"USE_EXISTING_CLUSTER=true"}, inBubble)
}

// inBubble returns the files of a suite that runs in a bubble.
func inBubble(suite string) (map[string]string, error) {
	name, err := packageOf(suite)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(suite, suiteFile))
	if err != nil {
		return nil, err
	}
	for _, change := range changes {
		if !change.pattern.Match(content) {
			return nil, fmt.Errorf("%s of %s has nothing like %s", suiteFile, suite, change.pattern)
		}
		content = change.pattern.ReplaceAll(content, []byte(change.by))
	}
	return map[string]string{suiteFile: string(content), "aaa_bubble_test.go": fmt.Sprintf(bubble, name)}, nil
}
