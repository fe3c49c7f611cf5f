//go:build go1.25

package remote

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A program of a Pod has its streams and its exit code, in bubbles and outside.
func TestAProgramRunsInAPod(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		c := Start(t, Workloads("nodes: 1"))
		u := admin(t, c)
		u.must("POST", pods, pod("web", "busybox:1.37", `"command": ["sleep", "1000000"], `, ""))
		c.WaitFor(t, Named("v1", "Pod", "", "web"), HasCondition("Ready"))

		var stdout, stderr strings.Builder
		code, err := c.Exec(t.Context(), PodExec{Pod: "web", Args: []string{"sh", "-c", "cat; echo wrong >&2; exit 3"}, Stdin: strings.NewReader("some text\n"), Stdout: &stdout, Stderr: &stderr})
		if err != nil || code != 3 || stdout.String() != "some text\n" || stderr.String() != "wrong\n" {
			t.Errorf("code %d, %v, stdout %q, stderr %q", code, err, stdout.String(), stderr.String())
		}
		if code, err := c.Exec(t.Context(), PodExec{Namespace: "default", Pod: "web", Container: "c", Args: []string{"true"}}); code != 0 || err != nil {
			t.Errorf("without streams: code %d, %v", code, err)
		}
		for text, e := range map[string]PodExec{
			"pod is missing: give the name of a Pod":              {Args: []string{"true"}},
			`pods "none" not found`:                               {Pod: "none", Args: []string{"true"}},
			"container x is not valid for pod web":                {Pod: "web", Container: "x", Args: []string{"true"}},
			`exec: "missing": executable file not found in $PATH`: {Pod: "web", Args: []string{"missing"}},
		} {
			if code, err := c.Exec(t.Context(), e); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: code %d, %v", text, code, err)
			}
		}

		if err := c.AttachPod(t.Context(), PodAttach{}); err == nil || err.Error() != "pod is missing: give the name of a Pod" {
			t.Errorf("attached to no Pod: %v", err)
		}
		if _, err := c.PortForward(t.Context(), "", "", 80); err == nil || err.Error() != "pod is missing: give the name of a Pod" {
			t.Errorf("a connection to no Pod: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Exec(ctx, PodExec{Pod: "web", Args: []string{"sleep", "1000"}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a program that goes on: %v", err)
		}
	})
}

func TestAProgramNeedsNodes(t *testing.T) {
	c := Start(t)
	if _, err := c.Exec(t.Context(), PodExec{Pod: "web", Args: []string{"true"}}); err == nil || !strings.HasPrefix(err.Error(), "nothing lives in the cluster: ") {
		t.Error(err)
	}
}
