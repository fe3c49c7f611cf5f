// Package policy evaluates ValidatingAdmissionPolicies and MutatingAdmissionPolicies, as
// upstream's admission/plugin/policy does.
//
// # From a stored object to a decision
//
// [New] reads the stored policies and bindings. The spec of a policy is compiled once in a
// process: all clusters find the result in a cache. A policy without a binding, and a binding
// without its policy, have no effect.
//
// For each write, and each policy in the order of their names:
//
//	the policy's matchConstraints ── no ──→ next policy
//	paramKind: is there such a kind?
//	each binding, by name: matchResources ── no ──→ next binding
//	    params: none, one, or as many as a selector finds
//	    each of these: matchConditions, then the expressions, within one budget
//
// The decisions of all policies are collected, and the first that denies is the answer. If a
// policy cannot be evaluated, its failurePolicy decides.
//
// Upstream's own plugins are built on informers, so this package replaces them. It uses those
// of upstream's packages that are not: admission/plugin/cel compiles and evaluates,
// webhook/matchconditions judges conditions, policy/mutating/patch makes patches.
//
// Everything that New makes is immutable and does not refer to a server, so that forks share
// it. What it needs of the cluster comes with the write.
package policy
