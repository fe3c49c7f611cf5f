// Package explore finds mistakes of an operator without a test, in module remote: the trials are made and checked in the host, and the operator runs in a
// testing/synctest bubble of the test's process for each of them. It needs Go 1.25.
//
//	func TestExploreTheOperator(t *testing.T) {
//		explore.Operator(t, explore.Subject{
//			Install: []string{"config/crd", "config/rbac"},
//			Roles:   []string{"config/rbac"}, // the operator runs as the service account that they bind
//			Seeds:   []string{"config/samples"},
//			Run: func(ctx context.Context, c *remote.Cluster) error {
//				return run(ctx, &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1})
//			},
//		})
//	}
//
// [Operator], [Upgrade], [FindOperator] and [FindUpgrade] do what those of package explore of the main module do: the same seed has the same trials and the same findings. The flags
// of go test are the same, too. docs/explore-operator.md describes the trials, the oracles, and what to do with a finding.
//
// # What is missing
//
// An operator that needs a socket, or a clock outside of the cluster, cannot be explored in real time here. A condition of an [Invariant] is an expression, and no Go
// function. Run, which tries a test with something going wrong at another place each time, is in the main module alone. controller-runtime recovers
// from a panic of a Reconciler: [NotePanic] makes it a finding.
package explore
