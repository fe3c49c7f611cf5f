package lifecycle

// Controllers says which controllers of kube-controller-manager a Reactor stands for. What
// kube-apiserver does itself, above all for definitions, is done in any case.
type Controllers struct {
	// Namespaces empties namespaces that are being deleted, and ends them.
	Namespaces bool
	// Garbage deletes objects whose owners are gone, and completes foreground and orphan
	// deletions.
	Garbage bool
	// Migrations carries out StorageVersionMigrations.
	Migrations bool
	// Policies checks the types in ValidatingAdmissionPolicies.
	Policies bool
}
