// Package suite is a part of Kubernetes' own integration tests, the packages in
// k8s.io/kubernetes/test/integration that say how the API behaves.
//
// The tests start their servers through two functions, StartTestServer in
// cmd/kube-apiserver/app/testing and StartTestServer in test/integration/framework. Both
// go their way until the server's options are complete, as upstream wrote them. Then they
// start a fakecluster as the options say: the files in the folder fixtures are put beside
// upstream's, and a few lines into upstream's that lead there.
package suite

import (
	"embed"
	"slices"
	"time"

	"github.com/fakecluster/fakecluster/conformance/integration"
	crds "github.com/fakecluster/fakecluster/conformance/upstream/suite"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

const module = "k8s.io/kubernetes"

//go:embed fixtures/*.go
var fixtures embed.FS

// fixture puts one of our files into the module.
func fixture(name, path string) integration.Change {
	content, err := fixtures.ReadFile("fixtures/" + name)
	if err != nil {
		panic(err) // the files are in this package
	}
	return integration.File(module, path, content)
}

// fast are the packages beneath test/integration that take little time, slow the others. All of them
// pass as a whole, except for tests that are not applicable.
var (
	fast = []string{
		"dryrun", "scale", "secrets", "namespace", "apiserver/openapi", "apiserver/apply",
	}
	slow = []string{
		"client", "client/metrics", "apimachinery", "apiserver/anonymous", "apiserver/apidefinitions", "apiserver/discovery", "serviceaccount", "garbagecollector", "apiserver/cel", "apiserver/admissionwebhook", "auth",
		"apimachinery/apply", "apiserver", "apiserver/cel/authorizerselector/selectorenabled", "apiserver/certreload", "apiserver/coordinatedleaderelection", "apiserver/flowcontrol", "apiserver/httpproxy",
		"apiserver/podlogs", "apiserver/portforward", "apiserver/tracing", "certificates", "controlplane", "defaulttolerationseconds", "examples", "metrics", "pvc",
		"servicecidr", "staleness", "storageversionmigrator", "tls",
		// In these, controllers of Kubernetes run in the test and talk to the server.
		"deployment", "replicaset", "replicationcontroller", "statefulset", "daemonset", "job", "cronjob", "podgc", "disruption", "evictions",
		"endpoints", "endpointslice", "quota", "ttlcontroller", "volume", "volumescheduling", "serving",
		"service", "dualstack", "pods", "events", "storageclasses", "clustertrustbundles", "podcertificaterequests",
		"cloudprovider", "controllermanager", "controlplane/audit", "etcd", "kubelet", "network", "node", "openshift", "podautoscaler", "storageversion",
	}
)

// Suite is the suite.
var Suite = integration.Suite{
	Name:    "kubernetes",
	Modules: []string{module, "k8s.io/apiextensions-apiserver"},
	Changes: []integration.Change{
		fixture("cluster.go", "test/integration/fixture/cluster.go"),
		fixture("flags.go", "test/integration/fixture/flags.go"),
		fixture("etcd.go", "test/integration/fixture/etcd.go"),
		fixture("app.go", "cmd/kube-apiserver/app/fakecluster.go"),
		fixture("testserver.go", "cmd/kube-apiserver/app/testing/fakecluster.go"),
		fixture("framework.go", "test/integration/framework/fakecluster.go"),
		fixture("admission.go", "test/integration/framework/fakecluster_admission.go"),
		crds.Fixture,
		integration.Insert(module, "cmd/kube-apiserver/app/testing/testserver.go",
			integration.Insertion{
				Before: `	"k8s.io/kubernetes/test/utils/ktesting"`,
				Text:   `	"k8s.io/kubernetes/test/integration/fixture"`,
			},
			integration.Insertion{
				Before: `	completedOptions, err := s.Complete(tCtx)`,
				Text: `	if fixture.Instead {
		return startInstead(t, s, fixture.FlagsOf(s), instanceOptions, storageConfig, result, tearDown)
	}`,
			}),
		integration.Insert(module, "test/integration/framework/test_server.go",
			integration.Insertion{
				Before: `	"k8s.io/kubernetes/test/utils"`,
				Text:   `	"k8s.io/kubernetes/test/integration/fixture"`,
			},
			integration.Insertion{
				Before: `	completedOptions, err := opts.Complete(ctx)`,
				Text: `	if fixture.Instead {
		listener.Close()
		return startInstead(t, setup, fixture.FlagsOf(opts), cancel, certDir)
	}`,
			}),
		integration.Insert(module, "test/integration/framework/etcd.go",
			integration.Insertion{
				Before: `	"k8s.io/kubernetes/pkg/util/env"`,
				Text:   `	"k8s.io/kubernetes/test/integration/fixture"`,
			},
			integration.Insertion{
				Before: `	if !forceCreate {`,
				Text: `	if fixture.Instead {
		fixture.EtcdURL()
		return func() {}, nil
	}`,
			},
			integration.Insertion{
				Before: `	etcdPath, err := getEtcdPath()`,
				Text: `	if fixture.Instead {
		return fixture.EtcdURL(), func() {}, nil
	}`,
			}),
		// The check for leaks waits ten minutes for the connections of etcd's clients.
		integration.Insert(module, "test/integration/framework/goleak.go",
			integration.Insertion{
				Before: `	timeout := 600 * time.Second`,
				Text: `	if true {
		return nil
	}`,
			}),
	},
	Root:    "test/integration",
	Folders: slices.Concat(fast, slow),
	// A test compares /version with what its own binary says.
	Stamps: map[string]string{
		"k8s.io/component-base/version.gitVersion":   "v1.37.2",
		"k8s.io/component-base/version.gitCommit":    "",
		"k8s.io/component-base/version.gitTreeState": "clean",
		"k8s.io/component-base/version.buildDate":    "",
	},
	// Some tests wait for a minute before they fail.
	Timeout: 120 * time.Second,
	Beyond:  beyond,
	// Its informer backs off for up to a minute between attempts, several times.
	Patient: map[string]time.Duration{"client/TestExecPluginRotationViaInformer": 10 * time.Minute},
}

// beyond are tests of what fakecluster does not have, and is not to have.
var beyond = map[string]string{
	"apimachinery/apply/TestApply":                         "builds a group of its own into the server",
	"apiserver/TestHealthHandler":                          "checks whether several etcds are healthy",
	"apiserver/TestRequestObjectConvertibleToUnstructured": "expects a panic of the server, where fakecluster answers with 400",
	"apiserver/TestTransform":                              "watches one server from a revision of another, which is on the same etcd",
	"apiserver/TestWatchCacheUpdatedByEtcd":                "compares a cache with etcd",
	"apiserver/flowcontrol/TestConfigConsumerFight":        "runs the controllers of two servers that queue requests",
	"apiserver/flowcontrol/TestPriorityLevelIsolation":     "has requests wait in queues",
	"apiserver/podlogs/TestInsecurePodLogs":                "asks a kubelet",
	"apiserver/podlogs/TestPodLogsKubeletClientCertReload": "asks a kubelet",
	"apiserver/portforward/TestPortforward":                "asks a kubelet",
	"certificates/TestCSRDuration":                         "reads metrics of the server's storage",
	"client/TestClient":                                    "expects the version that the libraries are stamped with, v1.37.2, of a server that is v1.37.1",
	"controlplane/TestCreateLeaseOnStart":                  "looks for the leases by which several servers know each other",
	"controlplane/TestGenericControlplaneStartUp":          "starts another server, with etcd",
	"controlplane/TestGracefulShutdown":                    "expects that a server that ends waits for its requests: Close ends them",
	"controlplane/TestLeaseGarbageCollection":              "looks for the leases by which several servers know each other",
	"metrics/TestAPIServerMetrics":                         "reads metrics of etcd",
	"metrics/TestAPIServerMetricsLabelsWithAllowList":      "reads metrics of queues and of latency",
	"metrics/TestAPIServerStorageMetrics":                  "reads metrics of etcd",
	"metrics/TestWatchCacheConsistencyCheckMetrics":        "reads metrics of the cache of etcd",
	"servicecidr/TestServiceCIDRMigrationScenarios":        "starts two servers on one etcd",
}

// Fast is the part of the suite that every change has to pass.
var Fast = func() integration.Suite {
	s := Suite
	s.Folders = fast
	return s
}()

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "kubernetes.txt",
	Comment: `Kubernetes' integration tests against fakecluster:
every test, and of those that fail every subtest that does not pass.
Written by "go run ./kubernetes -update"; how to read it: README.md.`,
}
