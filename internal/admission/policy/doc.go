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
//	paramKind: is the kind served?
//	each binding, by name: matchResources ── no ──→ next binding
//	    params: none, one, or as many as a selector finds
//	    each of these: matchConditions, then the expressions, within one budget
//
// The decisions of all policies are collected, and the first that denies is the answer. If a
// policy cannot be evaluated, its failurePolicy decides.
//
// The evaluation is ours, made of those packages of upstream that stand alone: admission/plugin/cel
// compiles and evaluates, webhook/matchconditions evaluates conditions, policy/mutating/patch creates
// patches. Upstream's dispatchers and its TypeChecker are exported, and they evaluate these policies
// alike at about the same cost, but their package policy/generic imports client-go's fake clientset, 65
// packages that no other code here needs.
//
// Everything that New returns is immutable and does not refer to a server, so that forks share
// it. The Write gives access to the cluster.
package policy
