// Code generated from explore/oracle.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package explore

// Oracle is the name of a check of [Operator] and [Upgrade].
type Oracle string

// The oracles. docs/explore-operator.md has a section for each.
const (
	// Converges: some time after each change the operator is quiet, and stays quiet.
	Converges Oracle = "converges"
	// PathIndependent: the objects depend on the current custom resource, and not on its earlier states.
	PathIndependent Oracle = "path-independent"
	// Recovers: the objects are the same after a crash, a broken connection, a late event, a lost or changed object,
	// pods that failed for a while, a Secret that came late, or a user who acts while the operator works.
	Recovers Oracle = "recovers"
	// TruthfulStatus: the status describes the current generation, has it as observedGeneration if the schema
	// has this field, and reports an error that persists.
	TruthfulStatus Oracle = "truthful-status"
	// CleansUp: after a delete nothing is left, no finalizer is stuck, and nothing else was deleted.
	CleansUp Oracle = "cleans-up"
	// LeavesOthersAlone: the operator does not change objects that belong to another custom
	// resource or have another controller, nor labels and annotations that others have set.
	LeavesOthersAlone Oracle = "leaves-others-alone"
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
	// KeepsSpec: the operator does not change what the user has set in the custom resource.
	KeepsSpec Oracle = "keeps-spec"
	// FieldsMatter: each field of the spec has an effect. Only fields with well-known names count, unless
	// Subject.With contains the oracle.
	FieldsMatter Oracle = "fields-matter"
	// QuietWrites: the operator does not keep writing objects without changing them.
	QuietWrites Oracle = "quiet-writes"
	// IdempotentStart: an operator that starts again when nothing has changed writes nothing.
	IdempotentStart Oracle = "idempotent-start"
	// Upgrades: after an upgrade all objects can be read and written, and are as the new version
	// would create them. See [Upgrade].
	Upgrades Oracle = "upgrades"
	// Downgrades: after an upgrade and a downgrade, all objects are as the old version would create
	// them.
	Downgrades Oracle = "downgrades"
	// KeepsPods: an upgrade does not restart pods.
	KeepsPods Oracle = "keeps-pods"
	// Holds: the Invariants of the Subject hold.
	Holds Oracle = "holds"
)

// OracleDoc describes an oracle.
type OracleDoc struct {
	Oracle Oracle
	// Claim completes the sentence "the operator …" in a report of the oracle: "writes when it starts again".
	Claim string
	// Off is true if the oracle is off by default; Subject.With switches it on.
	Off bool
	// Upgrade is true if only [Upgrade] checks the oracle.
	Upgrade bool
}

// Oracles returns all oracles, in the order of reports.
func Oracles() []OracleDoc {
	return []OracleDoc{
		{Converges, "does not come to rest", false, false},
		{PathIndependent, "depends on the past", false, false},
		{Recovers, "does not recover", false, false},
		{TruthfulStatus, "reports a status that is not true", false, false},
		{CleansUp, "does not clean up", false, false},
		{LeavesOthersAlone, "does not leave others alone", false, false},
		{Permitted, "needs more than its roles allow", false, false},
		{NeedsItsRules, "has rules that it does not need", true, false},
		{NoPanic, "panics or ends", false, false},
		{NoLeak, "leaves goroutines behind", false, false},
		{CleanWrites, "writes what the server drops or warns about", false, false},
		{KeepsSpec, "changes what the user has set", false, false},
		{FieldsMatter, "ignores a field of the spec", false, false},
		{QuietWrites, "writes what is there already", false, false},
		{IdempotentStart, "writes when it starts again", false, false},
		{Upgrades, "does not survive an upgrade", false, true},
		{Downgrades, "does not survive the way back from an upgrade", false, true},
		{KeepsPods, "restarts pods in an upgrade", false, true},
		{Holds, "breaks an invariant", false, false},
	}
}

// claim returns the Claim of an oracle.
func (o Oracle) claim() string {
	for _, d := range Oracles() {
		if d.Oracle == o {
			return d.Claim
		}
	}
	return string(o)
}
