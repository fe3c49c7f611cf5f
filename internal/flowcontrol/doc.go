// Package flowcontrol finds the FlowSchema that a request matches, as API Priority and Fairness does
// (k8s.io/apiserver/pkg/util/flowcontrol), and counts the requests of each. It does not queue or reject requests.
//
// A FlowSchema whose PriorityLevelConfiguration does not exist matches nothing. The others are tried
// in the order of their precedence, and those of one precedence by name. The two that a server must have, exempt
// and catch-all, exist even if their objects do not.
//
// The FlowSchemas are read when a request needs them first, and again after one of them or a
// PriorityLevelConfiguration has changed. The specs are decoded once in a process.
package flowcontrol
