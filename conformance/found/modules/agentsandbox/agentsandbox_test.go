//go:build copied

package agentsandbox

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	_ "github.com/fakecluster/fakecluster/conformance/found/modules/collectors"
	formerv1alpha1 "github.com/fakecluster/fakecluster/conformance/found/modules/copied/agentsandbox-v0.5.5/api/v1alpha1"
	formerv1beta1 "github.com/fakecluster/fakecluster/conformance/found/modules/copied/agentsandbox-v0.5.5/api/v1beta1"
	former "github.com/fakecluster/fakecluster/conformance/found/modules/copied/agentsandbox-v0.5.5/controllers"
	formermetrics "github.com/fakecluster/fakecluster/conformance/found/modules/copied/agentsandbox-v0.5.5/visible/metrics"
	sandboxv1alpha1 "github.com/fakecluster/fakecluster/conformance/found/modules/copied/agentsandbox-v0.5.6/api/v1alpha1"
	sandboxv1beta1 "github.com/fakecluster/fakecluster/conformance/found/modules/copied/agentsandbox-v0.5.6/api/v1beta1"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/agentsandbox-v0.5.6/controllers"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/agentsandbox-v0.5.6/visible/metrics"
	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

const module = "sigs.k8s.io/agent-sandbox"

func TestSandbox(t *testing.T) {
	s := current(t)
	s.Trials = 300
	explored.RunCopy(t, module, "v0.5.6", s)
}

func TestSandboxUpgrade(t *testing.T) {
	explored.UpgradeCopy(t, module, "v0.5.5", "v0.5.6", previous(t), current(t))
}

// current is v0.5.6.
func current(t *testing.T) explore.Subject {
	return subject(t, explored.CopiedFolder("agentsandbox-v0.5.6"), controllers.PodCacheTransform, func(mgr ctrl.Manager) error {
		return errors.Join(
			(&controllers.SandboxReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme(), Recorder: mgr.GetEventRecorder("sandbox-controller"),
				Tracer: metrics.NewNoOp(), ClusterDomain: "cluster.local"}).SetupWithManager(mgr, 1),
			ctrl.NewWebhookManagedBy(mgr, &sandboxv1beta1.Sandbox{}).Complete(),
		)
	}, sandboxv1alpha1.AddToScheme, sandboxv1beta1.AddToScheme)
}

// previous is v0.5.5.
func previous(t *testing.T) explore.Subject {
	return subject(t, explored.CopiedFolder("agentsandbox-v0.5.5"), former.PodCacheTransform, func(mgr ctrl.Manager) error {
		return errors.Join(
			(&former.SandboxReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme(), Tracer: formermetrics.NewNoOp(), ClusterDomain: "cluster.local"}).SetupWithManager(mgr, 1),
			ctrl.NewWebhookManagedBy(mgr, &formerv1beta1.Sandbox{}).Complete(),
		)
	}, formerv1alpha1.AddToScheme, formerv1beta1.AddToScheme)
}

// subject is a version whose files are in a folder.
func subject(t *testing.T, in func(paths ...string) []string, pods func(any) (any, error), setup func(ctrl.Manager) error, types ...func(*runtime.Scheme) error) explore.Subject {
	scheme := runtime.NewScheme()
	for _, add := range append(types, clientgoscheme.AddToScheme) {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	definition := in("k8s/crds/agents.x-k8s.io_sandboxes.yaml")
	return explore.Subject{
		Install: definition,
		Roles:   append(in("k8s/rbac.generated.yaml"), "roles.yaml"),
		Seeds:   []string{"sandbox.yaml"},
		Options: []fakecluster.Option{fakecluster.WithWebhookPaths(definition...)},
		Prepare: func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
			return func(ctx context.Context, cfg *rest.Config) error {
				return controllerruntime.Start(ctx, cfg, setup, controllerruntime.WithWebhooks(c), controllerruntime.WithOptions(ctrl.Options{
					Scheme: scheme,
					Cache: cache.Options{
						DefaultTransform: cache.TransformStripManagedFields(),
						ByObject:         map[client.Object]cache.ByObject{&corev1.Pod{}: {Transform: pods}},
					},
				}))
			}
		},
	}
}
