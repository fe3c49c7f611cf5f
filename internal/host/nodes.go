package host

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads"
)

// nodeActions are the actions on a node.
var nodeActions = map[string]func(context.Context, *workloads.Node, NodeAction) error{
	"cordon":           func(ctx context.Context, n *workloads.Node, _ NodeAction) error { return n.Cordon(ctx) },
	"uncordon":         func(ctx context.Context, n *workloads.Node, _ NodeAction) error { return n.Uncordon(ctx) },
	"drain":            func(ctx context.Context, n *workloads.Node, _ NodeAction) error { return n.Drain(ctx) },
	"delete":           func(ctx context.Context, n *workloads.Node, _ NodeAction) error { return n.Delete(ctx) },
	"stopHeartbeats":   func(ctx context.Context, n *workloads.Node, _ NodeAction) error { return n.StopHeartbeats(ctx) },
	"resumeHeartbeats": func(ctx context.Context, n *workloads.Node, _ NodeAction) error { return n.ResumeHeartbeats(ctx) },
	"setPressure": func(ctx context.Context, n *workloads.Node, a NodeAction) error {
		return n.SetPressure(ctx, corev1.NodeConditionType(a.Pressure), a.On)
	},
}

// NodeAction is the request for an action on a node.
type NodeAction struct {
	Action   string `json:"action" doc:"cordon, uncordon, drain, delete, stopHeartbeats, resumeHeartbeats or setPressure"`
	Pressure string `json:"pressure,omitempty" doc:"of setPressure: MemoryPressure, DiskPressure or PIDPressure"`
	On       bool   `json:"on,omitempty" doc:"of setPressure: whether the node reports the pressure"`
}

func actOnNode(c call, a NodeAction) (none, error) {
	life := c.cluster.life()
	if life == nil {
		return none{}, errNothingLives
	}
	n, err := life.Node(c.path("node"))
	if err != nil {
		return none{}, refuse(http.StatusNotFound, "%w", err)
	}
	act, ok := nodeActions[a.Action]
	if !ok {
		return none{}, refuse(http.StatusBadRequest, "action: there is no %q; there are %s", a.Action, strings.Join(slices.Sorted(maps.Keys(nodeActions)), ", "))
	}
	if a.Action != "setPressure" && (a.Pressure != "" || a.On) {
		return none{}, refuse(http.StatusBadRequest, "pressure and on are for setPressure, not for %s", a.Action)
	}
	return none{}, failed(act(c, n, a))
}
