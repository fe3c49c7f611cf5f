package trainer

import (
	"context"
	"errors"
	"testing"

	trainerv1alpha1 "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/controller"
	runtimecore "github.com/kubeflow/trainer/v2/pkg/runtime/core"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
)

// JobSets are made, and no operator acts on them.
func TestTrainJob(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), trainerv1alpha1.AddToScheme(scheme), jobsetv1alpha2.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	in := explored.Folder(t, "github.com/kubeflow/trainer/v2")
	explored.Run(t, "github.com/kubeflow/trainer/v2", explore.Subject{
		Install:   append(in("manifests/base/crds"), explored.Folder(t, "sigs.k8s.io/jobset")("config/components/crd/bases")...),
		Roles:     append(in("manifests/base/rbac/role.yaml"), "roles.yaml"),
		Resources: []string{"trainjobs.trainer.kubeflow.org"},
		Seeds:     []string{"trainjob.yaml"},
		Run: func(ctx context.Context, cfg *rest.Config) error {
			return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error {
				runtimes, err := runtimecore.New(ctx, mgr.GetClient(), mgr.GetFieldIndexer())
				if err != nil {
					return err
				}
				_, err = controller.SetupControllers(mgr, runtimes, ctrlcontroller.Options{SkipNameValidation: new(true)})
				return err
			}, controllerruntime.WithScheme(scheme))
		},
	})
}
