// Package policy carries out ValidatingAdmissionPolicies and
// MutatingAdmissionPolicies, as upstream's admission/plugin/policy does.
//
// # From a stored object to a decision
//
// [New] reads the stored policies and bindings. A policy is compiled once: what is
// made of its spec is remembered by the spec, for all clusters of the process. A
// policy that no binding names, and a binding whose policy is not there, say nothing.
//
// For each write, and each policy in the order of their names:
//
//	the policy's matchConstraints ── no ──→ next policy
//	paramKind: is there such a kind?
//	each binding, by name: matchResources ── no ──→ next binding
//	    params: none, one, or as many as a selector finds
//	    each of these: matchConditions, then the expressions, within one budget
//
// Decisions of all policies are collected; the first that denies is the answer. A
// policy that cannot be carried out decides by its failurePolicy.
//
// The packages of upstream that this one does the work of are built on informers;
// those that it uses are not: admission/plugin/cel compiles and evaluates,
// webhook/matchconditions judges conditions, policy/mutating/patch makes patches.
//
// Everything made by New is immutable and knows no server: forks share it. What it
// needs of the cluster comes with the write.
package policy
