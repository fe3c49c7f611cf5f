// Package remote starts clusters of fakecluster in another process, with the names and semantics of package
// fakecluster. It imports only the standard library, so it does not change the versions of Kubernetes'
// libraries in your module, and a test links as fast as one without a cluster.
//
//	func TestMyOperator(t *testing.T) {
//		c := remote.Start(t, remote.CRDPaths("config/crd"))
//		cfg := &rest.Config{Host: c.URL(), BearerToken: c.Token(), QPS: -1}
//		...
//	}
//
// All clusters of a machine's user live in one process, which "fakecluster host" runs. Start finds the
// program through the environment variable FAKECLUSTER, then on the PATH, and otherwise builds it once in
// your cache folder, which takes a few minutes. It starts the host if none runs. Clusters end with their
// test, even if the process of the test is killed.
//
// # Virtual time
//
// In a testing/synctest bubble, the clock of a cluster is that of the bubble, so that an hour takes no time. It needs Go 1.25, and clients with the
// transport of the cluster:
//
//	synctest.Test(t, func(t *testing.T) {
//		c := remote.Start(t)
//		cfg := &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}
//		...
//		time.Sleep(8 * time.Hour)
//	})
//
// A cluster that was started outside of the bubble can be forked inside: c := base.Fork(t). docs/remote.md
// describes when the test sees changes that the cluster makes by itself.
//
// # Handlers of the test
//
// The cluster calls an http.Handler of the test as a Service, as a conversion webhook or as admission
// webhooks, in bubbles and outside: [Service], [Conversion] and [Cluster.ServeWebhooks]. A webhook server
// that listens works as with envtest, outside of bubbles: [Cluster.WebhookServer] returns its address.
//
// # Containers of the test
//
// [Image] runs the containers of an image as a function of the test, with the files, streams, network and token of a [Container].
//
// # Exploration
//
// Package remote/explore finds mistakes of an operator without a test.
//
// # What is missing
//
// These options are missing, because they need types of Kubernetes' libraries: WithAdmission, WithAuthenticator, WithAuthorizer,
// WithClock and WithMiddleware.
//
// All methods of a Cluster are safe for concurrent use.
package remote
