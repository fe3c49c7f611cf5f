// Package workloads runs Kubernetes' own controllers and scheduler in a cluster, and on request Nodes with
// running Pods, as in a real cluster.
//
//	func TestMyOperator(t *testing.T) {
//		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithManifests("deploy/"))
//		workloads.Run(t, c)
//		...
//	}
//
// With it a Deployment gets a ReplicaSet and Pods, and the scheduler binds the Pods to Nodes. With [Nodes]
// the Pods run: their containers follow a [Behavior], or are Go functions ([Image]) or programs ([Command]).
//
// # Controllers
//
// The controllers of kube-controller-manager are those of k8s.io/kubernetes, unpatched. Each acts as its ServiceAccount in
// kube-system, with the permissions that its ClusterRole gives it, records Events and backs off as it does in a
// real cluster. They act later than the write that concerns them. In a testing/synctest bubble all of their time is virtual:
// synctest.Wait returns when they wait for something, and time.Sleep lets their back-off and schedules pass.
//
// Some controllers act within the write instead, by fakecluster's own code, so that their work is done when
// the write returns: garbage collection, quotas, service accounts, root certificates, the aggregation of
// ClusterRoles, storage migration and the status of admission policies. Run starts them, even if the cluster
// was started without them. docs/controllers.md in the repository says why, and lists all controllers.
//
// # Isolation and concurrency
//
// Any number of clusters with workloads run side by side in a process. A fork has the objects of its origin,
// and runs no controllers, scheduler or Nodes until Run is called for it.
//
// Importing the package changes settings of Kubernetes' libraries that hold for the whole process: work
// queues have no metrics, and a panic of a controller ends that controller only and fails the test.
package workloads
