package eck

import (
	"context"
	"errors"
	"testing"
	"time"

	kbv1 "github.com/elastic/cloud-on-k8s/v3/pkg/apis/kibana/v1"
	associationctl "github.com/elastic/cloud-on-k8s/v3/pkg/controller/association/controller"
	"github.com/elastic/cloud-on-k8s/v3/pkg/controller/common/certificates"
	"github.com/elastic/cloud-on-k8s/v3/pkg/controller/common/license"
	"github.com/elastic/cloud-on-k8s/v3/pkg/controller/common/operator"
	"github.com/elastic/cloud-on-k8s/v3/pkg/controller/common/scheme"
	"github.com/elastic/cloud-on-k8s/v3/pkg/controller/common/webhook"
	"github.com/elastic/cloud-on-k8s/v3/pkg/controller/kibana"
	"github.com/elastic/cloud-on-k8s/v3/pkg/utils/rbac"
	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestKibana(t *testing.T) {
	scheme.SetupScheme()
	const module = "github.com/elastic/cloud-on-k8s/v3"
	in := explored.Folder(t, module)
	rotation := certificates.RotationParams{Validity: 365 * 24 * time.Hour, RotateBefore: 24 * time.Hour}
	params := operator.Parameters{
		OperatorNamespace: "elastic-system", IPFamily: corev1.IPv4Protocol, MaxConcurrentReconciles: 3, SetDefaultSecurityContext: true,
		CACertRotation: rotation, CertRotation: rotation,
	}
	explored.Run(t, module, explore.Subject{
		Install: in("config/crds/v1/all-crds.yaml"),
		Roles:   []string{"roles.yaml"},
		Seeds:   []string{"kibana.yaml"},
		Options: []fakecluster.Option{fakecluster.WithWebhookPaths(in("config/webhook/manifests.yaml")...)},
		Prepare: func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
			return func(ctx context.Context, cfg *rest.Config) error {
				return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error {
					anyone := rbac.NewPermissiveAccessReviewer()
					webhook.RegisterResourceWebhook(mgr, kbv1.WebhookPath, license.NewLicenseChecker(mgr.GetClient(), params.OperatorNamespace), nil, nil, kbv1.Validate, "Kibana")
					return errors.Join(
						kibana.Add(mgr, params),
						associationctl.AddKibanaES(mgr, anyone, params),
						associationctl.AddKibanaEnt(mgr, anyone, params),
						associationctl.AddKibanaEPR(mgr, anyone, params),
						associationctl.AddKbMonitoring(mgr, anyone, params),
					)
				}, controllerruntime.WithScheme(clientgoscheme.Scheme), controllerruntime.WithWebhooks(c))
			}
		},
	})
}
