// Package controllerruntime runs the manager of an operator that is written with controller-runtime on a
// cluster of fakecluster, in a test:
//
//	func TestOperator(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths("config/crd"))
//			controllerruntime.Run(t, c, func(mgr ctrl.Manager) error {
//				return (&Reconciler{Client: mgr.GetClient()}).SetupWithManager(mgr)
//			}, controllerruntime.WithScheme(scheme))
//			cl := controllerruntime.NewClient(t, c, scheme)
//			…
//		})
//	}
//
// [Run] works inside and outside of a testing/synctest bubble and stops the manager with the test.
// [Start] is for functions that get a context and a configuration, such as those of
// scenarios.WithController and explore's Control. Both set the options without which a manager does not
// work in tests: it does not serve metrics or health probes, any number of controllers may have the same
// name, and its webhook server is called by the cluster directly.
//
// # Webhooks
//
// With fakecluster.WithWebhookPaths("config/webhook") the cluster calls the webhooks of the manager, from the
// return of Run on. They do not need a socket, so this works in a bubble as well.
//
// The package is a module of its own, so that other users of fakecluster do not get controller-runtime.
package controllerruntime
