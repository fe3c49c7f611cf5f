// Package policy evaluates ValidatingAdmissionPolicies and MutatingAdmissionPolicies, as
// upstream's admission/plugin/policy does.
//
// # From a stored object to a decision
//
// [New] reads the stored policies and bindings. The spec of a policy is compiled once in a process and cached for all
// clusters. A policy without a binding, and a binding without its policy, have no effect.
//
// For each write, and each policy in the order of their names:
//
//	the policy's matchConstraints ── no ──→ next policy
//	paramKind: is the kind served?
//	each binding, by name: matchResources ── no ──→ next binding
//	    params: none, one, or as many as a selector finds
//	    each of these: matchConditions, then the expressions, within one budget
//
// The decisions of all policies are collected; the first one that denies is the response. If a policy cannot be
// evaluated, its failurePolicy decides.
//
// The evaluation uses those packages of upstream that can be used alone: admission/plugin/cel compiles and evaluates,
// webhook/matchconditions evaluates conditions, policy/mutating/patch creates patches. Upstream's dispatchers and its
// TypeChecker are exported, and would cost about the same time in half the lines. They cannot be used yet: they convert
// objects by upstream's scheme, which cannot convert one version of a built-in kind to another, and here admission has
// versioned objects where a real server has internal ones. A policy that matches a built-in kind through another version
// would fail.
//
// The result of New is immutable and does not refer to a server, so that forks share it. The Write gives access to the
// cluster.
package policy
