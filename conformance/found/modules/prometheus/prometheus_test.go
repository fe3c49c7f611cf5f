package prometheus

import (
	"context"
	"log/slog"
	"testing"

	"github.com/prometheus-operator/prometheus-operator/pkg/operator"
	prometheus "github.com/prometheus-operator/prometheus-operator/pkg/prometheus/server"
	client "github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

func TestPrometheus(t *testing.T) {
	in := explored.Folder(t, "github.com/prometheus-operator/prometheus-operator")
	explored.Run(t, "github.com/prometheus-operator/prometheus-operator", explore.Subject{
		Install:   in("example/prometheus-operator-crd"),
		Roles:     append(in("example/rbac/prometheus-operator/prometheus-operator-cluster-role.yaml"), "roles.yaml"),
		Resources: []string{"prometheuses.monitoring.coreos.com"},
		Seeds:     []string{"prometheus.yaml"},
		// The status is that of the Pods, and is looked at each minute until they are ready.
		Workloads: func(t testing.TB, c *fakecluster.Cluster) { workloads.Run(t, c, workloads.Nodes(1)) },
		Run: func(ctx context.Context, cfg *rest.Config) error {
			config := operator.DefaultConfig("10m", "50Mi")
			// That of the operator does not end with its context.
			config.ReloaderConfig.Image, config.PrometheusDefaultBaseImage = "quay.io/prometheus-operator/prometheus-config-reloader:v0.85.0", "quay.io/prometheus/prometheus"
			config.EventRecorderFactory = func(client kubernetes.Interface, component string) record.EventRecorder {
				b := record.NewBroadcaster(record.WithContext(ctx))
				b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
				return b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
			}
			if err := config.Namespaces.Finalize(); err != nil {
				return err
			}
			o, err := prometheus.New(ctx, cfg, config, slog.New(slog.DiscardHandler), client.NewRegistry())
			if err != nil {
				return err
			}
			return o.Run(ctx)
		},
	})
}
