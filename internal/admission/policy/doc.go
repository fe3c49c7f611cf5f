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
// patches. Upstream's dispatchers and its TypeChecker are exported, and a trial with them costs about the
// same in half the lines. They are not used yet: they convert objects by upstream's scheme, which has no
// conversion from one version of a built-in kind to another, and admission here has objects in a version
// where a real server has the internal form. A policy that matches a built-in kind through another version
// would fail.
//
// Everything that New returns is immutable and does not refer to a server, so that forks share
// it. The Write gives access to the cluster.
package policy
