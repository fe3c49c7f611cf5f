// Package suite is in the folder inprocess as it runs in process, and in moved as the list of docs/remote.md moves it to module remote.
package suite

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/examples/internal/program"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/inspect"
)

func TestMain(m *testing.M) { os.Exit(program.Run(m)) }

// These are in both: the copy would not compile with a name that module remote lacks.
var _ = []any{
	fakecluster.New, fakecluster.HasCondition, fakecluster.WithoutAdmissionPlugins, fakecluster.WithoutNamespaceLifecycle,
	fakecluster.WithAPIServerFlags, fakecluster.WithAdmissionPlugins, fakecluster.WithAudit, fakecluster.WithAuthorization,
	fakecluster.WithCRDPaths, fakecluster.WithCompactionInterval, fakecluster.WithControllers, fakecluster.WithConversion,
	fakecluster.WithDataFile, fakecluster.WithLegacyAPIs, fakecluster.WithManifests, fakecluster.WithObjects, fakecluster.WithPort,
	fakecluster.WithRuntimeConfig, fakecluster.WithSeed, fakecluster.WithService, fakecluster.WithSnapshot, fakecluster.WithTLS,
	fakecluster.WithWatchHistory, fakecluster.WithWebhookPaths,
	fakecluster.RBAC, fakecluster.AlwaysAllow, fakecluster.FsyncAlways, fakecluster.FsyncEverySecond, fakecluster.Access{},
	fakecluster.Budget{}, fakecluster.WebhookServer{}, fakecluster.Write{}, fakecluster.Option(nil),
	fakecluster.NamespaceController,
}

// clients returns a typed client.
func clients(cfg *rest.Config) kubernetes.Interface { return kubernetes.NewForConfigOrDie(cfg) }

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func TestAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(configMap("a")))
		c.Inject(faults.Fault{Verb: "update", Resource: "configmaps", Times: 1, Effect: faults.Conflict()})
		maps := clients(c.RESTConfig()).CoreV1().ConfigMaps("default")
		if _, err := maps.Update(t.Context(), configMap("a"), metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("the update: %v", err)
		}
		if !slices.ContainsFunc(c.Requests(), func(r inspect.Request) bool { return r.Verb == "update" && r.Code == 409 }) {
			t.Errorf("requests: %v", c.Requests())
		}
	})
}

func TestADependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithControllers(fakecluster.GarbageCollector))
		maps := clients(c.RESTConfig()).CoreV1().ConfigMaps("default")
		owner, err := maps.Create(t.Context(), configMap("owner"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		owned := configMap("owned")
		owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}}
		if _, err := maps.Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.WaitFor(t, fakecluster.Named("v1", "ConfigMap", "default", "owned"), fakecluster.Gone())
	})
}

func TestAFork(t *testing.T) {
	base := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithCRDPaths("../../scenarios/crontab"))
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fill(t, base.Fork(t), name)
			})
		})
	}
}

// fill creates a ConfigMap half a minute later, and waits for it.
func fill(t *testing.T, c *fakecluster.Cluster, name string) {
	created := make(chan struct{})
	go func() {
		defer close(created)
		time.Sleep(30 * time.Second)
		if _, err := clients(c.RESTConfig()).CoreV1().ConfigMaps("default").Create(t.Context(), configMap(name), metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	}()
	c.WaitFor(t, configMap(name), fakecluster.CEL("object.metadata.name == '"+name+"'"))
	<-created
}
