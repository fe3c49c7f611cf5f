package controller

// row is a controller in the table.
type row struct {
	name Name
	// always: the controller is part of kube-apiserver and always acts.
	always bool
	// new returns the controller. Each cluster has its own, because some have state.
	new func() *controller
}

// table has all controllers, in the order in which they act after a commit.
var table = []row{
	{DefinitionConditions, true, definitionConditions},
	{DefinitionFinalizer, true, definitionFinalizer},
	{Namespaces, false, emptyNamespaces},
	{GarbageCollector, false, garbageCollector},
	{StorageVersionMigrator, false, storageVersionMigrator},
	{PolicyStatus, false, policyStatus},
	{APIServiceRegistration, true, apiServiceRegistration},
	{APIServiceAvailability, true, apiServiceAvailability},
	{ResourceQuotas, false, resourceQuotas},
	{ServiceAccounts, false, serviceAccounts},
	{RootCAPublisher, false, rootCA},
	{RoleAggregation, false, aggregation},
	{AuthenticationTrust, true, authenticationTrust},
	{PriorityAndFairness, true, danglingSchemas},
	{AddressRepair, true, addressRepair}, // before a Service is created again
	{InitialObjects, true, initialObjects},
}
