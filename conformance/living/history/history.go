// Package history has histories: sequences of what users and faults do in a cluster in which things live. Each is played in a
// cluster with the real control plane, and in a fakecluster.
package history

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/workloads"
)

// History is a name and steps.
type History struct {
	Name  string
	Steps []Step
	// Seed is that of a random history, and 0 for others.
	Seed uint64
}

// Step is one thing that happens. The next step begins when the cluster is quiet.
type Step struct {
	// What describes the step, also to the reader of a difference.
	What string
	// Do does it.
	Do func(context.Context, World) error
	// Until reports whether what the step causes has happened, if it takes longer than the cluster is quiet. nil: it does not.
	Until func(World) bool
	// images are those of the containers that the step makes.
	images []string
}

// World is the cluster that a step acts in. Names of kinds are as in manifests.
type World interface {
	// Create creates the objects of a manifest, those with a namespace in that of the history.
	Create(ctx context.Context, manifest string) error
	// Patch applies a strategic merge patch, and Scale changes the subresource scale.
	Patch(ctx context.Context, kind, name, patch string) error
	Scale(ctx context.Context, kind, name string, replicas int) error
	// Delete deletes an object. The propagation may be empty. The name of a Namespace is always that of the history.
	Delete(ctx context.Context, kind, name, propagation string) error
	// DeleteNow deletes an object without a grace period.
	DeleteNow(ctx context.Context, kind, name string) error
	// Evict evicts Pods, one after the other in the order of their names, and notes how often the API server has allowed it.
	Evict(ctx context.Context, pods []string) error
	// Break does to a Node what no request does.
	Break(ctx context.Context, node string, how Fault) error
	// Get returns an object as it is now, and nil if it is not there. All returns all of a kind, ordered by name.
	Get(kind, name string) *unstructured.Unstructured
	All(kind string) []*unstructured.Unstructured
}

// Fault is what happens to a Node, as the path below /nodes/NAME of the agent.
type Fault string

// The faults, and what ends them.
const (
	StopHeartbeats   Fault = "heartbeats/stop"
	ResumeHeartbeats Fault = "heartbeats/resume"
	DiskIsFull       Fault = "pressure/DiskPressure/on"
	DiskIsFree       Fault = "pressure/DiskPressure/off"
)

// String lists the steps.
func (h History) String() string {
	var b strings.Builder
	for _, s := range h.Steps {
		b.WriteString("- " + s.What + "\n")
	}
	return b.String()
}

// Behaviors are those of the images that the history uses.
func (h History) Behaviors() []workloads.Behavior {
	used := map[string]bool{}
	for _, s := range h.Steps {
		for _, image := range s.images {
			used[image] = true
		}
	}
	var behaviors []workloads.Behavior
	for _, b := range images {
		if used[b.Image] {
			behaviors = append(behaviors, b)
		}
	}
	return behaviors
}
