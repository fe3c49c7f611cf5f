// Package random makes random pods for the differential test of the node agent.
package random

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Scenario is a pod and what happens to it.
type Scenario struct {
	Pod     *corev1.Pod
	Actions []Action
}

// Action is something that a client does, some time after an anchor. Anchors make that the action meets the pod in the same state
// under both agents, although their clocks differ by the parts of a second that a kubelet polls.
type Action struct {
	// Container and Start name the start of a container that the time counts from. Empty: the creation of the pod.
	Container string
	Start     int
	After     time.Duration
	// Delete deletes the pod, with the grace period if that is not nil.
	Delete bool
	Grace  *int64
	// ConfigMap is the name of a ConfigMap in the namespace of the pod that the action sets or deletes instead, and Value the value of its key "key".
	ConfigMap, Value string
}

// First reports whether the action comes before the creation of the pod.
func (a Action) First() bool { return a.Container == "" && a.After == 0 }
