// Package flowcontrol finds the FlowSchema of a request, as API Priority and Fairness does
// (k8s.io/apiserver/pkg/util/flowcontrol), and counts the requests of each. It does not queue or reject requests.
//
// A FlowSchema whose PriorityLevelConfiguration does not exist matches nothing. The others are tried in the order of
// their precedence, and then by name. The two mandatory ones, exempt and catch-all, exist even if their objects do not.
//
// The FlowSchemas are read for the first request that needs them, and again after one of them or a
// PriorityLevelConfiguration has changed. Specs are decoded once in a process.
package flowcontrol
