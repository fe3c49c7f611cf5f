package explore

import "slices"

// Oracle is the name of a check of [Operator].
type Oracle string

// The oracles. docs/explore-operator.md has a section for each.
const (
	// Converges: some time after each change the operator is quiet, and stays quiet.
	Converges Oracle = "converges"
	// PathIndependent: the objects depend on what the custom resource is now, and not on what it was before.
	PathIndependent Oracle = "path-independent"
	// Recovers: the objects are the same after a crash, a broken connection, a late event, a lost or changed object,
	// pods that failed for a while, or a Secret that came late.
	Recovers Oracle = "recovers"
	// TruthfulStatus: the status is about the present generation, and reports an error that goes on.
	TruthfulStatus Oracle = "truthful-status"
	// CleansUp: after a delete nothing is left, no finalizer is stuck, and nothing else was deleted.
	CleansUp Oracle = "cleans-up"
	// Permitted: the operator's roles allow all its requests.
	Permitted Oracle = "permitted"
	// NeedsItsRules: the operator's roles have no rule that it never needed. It is off by default, because a short
	// exploration does not need all rules.
	NeedsItsRules Oracle = "needs-its-rules"
	// NoPanic: the operator neither panics nor ends by itself.
	NoPanic Oracle = "no-panic"
	// NoLeak: the operator ends with its context, and leaves no goroutine behind.
	NoLeak Oracle = "no-leak"
	// CleanWrites: the server neither drops fields of a write nor warns about one.
	CleanWrites Oracle = "clean-writes"
	// IdempotentStart: an operator that starts again when nothing has changed writes nothing.
	IdempotentStart Oracle = "idempotent-start"
	// Holds: the Invariants of the Subject hold.
	Holds Oracle = "holds"
)

// OracleDoc describes an oracle.
type OracleDoc struct {
	Oracle Oracle
	// Claim is what a finding of the oracle says about the operator: "writes when it starts again".
	Claim string
	// Off is set if the oracle has to be switched on.
	Off bool
}

// Oracles returns all oracles.
func Oracles() []OracleDoc {
	return []OracleDoc{
		{Converges, "does not come to rest", false},
		{PathIndependent, "depends on the past", false},
		{Recovers, "does not recover", false},
		{TruthfulStatus, "reports a status that is not true", false},
		{CleansUp, "does not clean up", false},
		{Permitted, "needs more than its roles allow", false},
		{NeedsItsRules, "has rules that it does not need", true},
		{NoPanic, "panics or ends", false},
		{NoLeak, "leaves goroutines behind", false},
		{CleanWrites, "writes what the server drops or warns about", false},
		{IdempotentStart, "writes when it starts again", false},
		{Holds, "breaks an invariant", false},
	}
}

// claim returns what is wrong if an oracle has a finding.
func (o Oracle) claim() string {
	for _, d := range Oracles() {
		if d.Oracle == o {
			return d.Claim
		}
	}
	return string(o)
}

// checks reports whether the subject wants an oracle.
func (s *Subject) checks(o Oracle) bool {
	if slices.Contains(s.Without, o) {
		return false
	}
	if slices.Contains(s.With, o) {
		return true
	}
	return !slices.ContainsFunc(Oracles(), func(d OracleDoc) bool { return d.Oracle == o && d.Off })
}
