// Package workloads makes a cluster live: Kubernetes' own controllers and scheduler run in it, as in a real
// cluster.
//
//	func TestMyOperator(t *testing.T) {
//		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithManifests("deploy/"))
//		workloads.Run(t, c)
//		...
//	}
//
// A Deployment has a ReplicaSet and Pods, and the scheduler binds the Pods to Nodes.
//
// # Controllers
//
// The controllers of kube-controller-manager are those of k8s.io/kubernetes, unpatched. Each acts as its ServiceAccount in
// kube-system, with the permissions that its ClusterRole gives it, records Events and backs off as it does in a
// real cluster. They act later than the write that concerns them. In a testing/synctest bubble all of their time is virtual:
// synctest.Wait returns when they wait for something, and time.Sleep lets their back-off and schedules pass.
//
// Some controllers act within the write instead, by fakecluster's own code, so that their work is done when the write
// returns: garbage collection, quotas, service accounts, root certificates, the aggregation of
// ClusterRoles, storage migration and the status of admission policies. Run has them act also if the cluster
// was started without them. docs/controllers.md in the repository says why, and lists all controllers.
//
// # Isolation and concurrency
//
// Any number of clusters live side by side in a process, and in parallel. A fork begins with the state of its origin,
// and nothing lives in it until Run is called for it.
//
// Importing the package sets what Kubernetes' libraries keep for the whole process: queues have no metrics, and
// the errors and panics of controllers are handled as this documentation says.
package workloads
