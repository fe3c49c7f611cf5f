// Package explore finds mistakes of an operator without a test, and of a test by things that go wrong, in module remote: the trials are made and checked in the host, and
// the operator or the test runs in a testing/synctest bubble of the test's process for each of them. It needs Go 1.25.
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
// [Run] and [Find] try a test again and again, each time with a fault at another place. docs/faults.md describes the faults, and the package comment of explore of the
// main module what a test must contain.
//
//	func TestMyOperator(t *testing.T) {
//		explore.Run(t, func(t testing.TB, c *explore.Cluster) {
//			c.Control("operator", c.Config(), operate) // func(ctx context.Context, c *remote.Cluster) error
//			create(t, c, website)                      // as a user, with c.Transport()
//			c.Wait(time.Minute)                        // of virtual time
//			expectOneDeployment(t, c)                  // whatever has happened meanwhile
//		}, explore.With(remote.CRDPaths("config/crd")))
//	}
//
// # What is missing
//
// An operator that needs a socket, or a clock outside of the cluster, cannot be explored in real time here: docs/explore-operator.md says what to do instead. A condition of an [Invariant] is an expression, and no Go
// function. controller-runtime recovers from a panic of a Reconciler: [remote.NotePanic] makes it a finding.
package explore
