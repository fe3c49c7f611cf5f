// Package explore runs a test again and again, each time with a fault at another place, and finds the place
// at which the test fails:
//
//	func TestMyOperator(t *testing.T) {
//		explore.Run(t, func(t testing.TB, c *explore.Cluster) {
//			c.Control("operator", c.RESTConfig(), func(ctx context.Context, config *rest.Config) error {
//				return operate(ctx, config) // runs the controller until ctx ends
//			})
//			create(t, c, website)      // as a user
//			c.Wait(time.Minute)        // of virtual time
//			expectOneDeployment(t, c)  // whatever has happened meanwhile
//		}, explore.With(fakecluster.WithCRDPaths("config/crd")))
//	}
//
// The body is the test. It gets a cluster of its own in each run, starts the controllers under test with
// [Cluster.Control], and checks the result at the end. A run is in a testing/synctest bubble, so that the
// pauses of a controller take no real time. Faults never strike the requests of the body itself.
//
// # What goes wrong
//
// The first run is without faults. It shows at which points one can strike, and each of the following
// runs has one of them:
//
//   - crash-after, crash-before: the controller stops right after or right before a write, and is started
//     again a second later
//   - cut-after, cut-before: the connection breaks after a write was stored, or before, and the controller
//     continues
//   - late: the events of a watch come half a minute late, as in a cache that lags
//   - drop: the connection of a watch breaks after a number of events
//   - stale: a read is answered from the past
//   - order: the events of different watches come in another order; each watch keeps its order
//
// A point is a request with its number among the controller's requests of the same kind, such as the second
// create of configmaps in the namespace default. Points at which a fault makes no difference are left out:
// writes that the server rejects, dry runs, writes of Events, watches without events, reads whose answer from
// the past would be the same. A read without a resourceVersion is never stale on a real server, so it is
// struck only with [StaleReads]. [Faults] tries two faults at a time.
//
// # What it finds
//
// The runs are in a fixed order, with fewer faults first, so that the first schedule that fails is a shortest
// one. Its report has the log of the test, and a line with which [Replay] runs it again. Uids, generated
// names and time are the same in each run. Only the order in which goroutines of the controller run at the
// same moment may differ.
//
// # Without a test
//
// [Operator] needs no body. It generates custom resources and changes of them from the definitions and
// samples of an operator, plays each sequence in a fork of one cluster, with crashes, late events and
// disturbances, and checks the result by [Oracles]. [Subject] describes the operator. A trial is like a run:
// it is in a bubble, and faults strike the requests of the operator. [Upgrade] explores in the same way what
// happens to the objects of one version of an operator when the next version is installed.
package explore
