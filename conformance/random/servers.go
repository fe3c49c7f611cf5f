package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fakecluster/fakecluster/conformance/random/play"
	"github.com/fakecluster/fakecluster/conformance/real/programs"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// startTimeout is for a busy machine.
const startTimeout = 5 * time.Minute

// startReal starts the real programs as envtest does. The returned function stops them.
func startReal(ctx context.Context, emulated string) (*rest.Config, func() error, error) {
	crlog.SetLogger(logr.Discard())
	folder, err := programs.Folder(ctx, "real/modules", programs.APIServer, programs.Etcd)
	if err != nil {
		return nil, nil, err
	}
	environment := &envtest.Environment{BinaryAssetsDirectory: folder, ControlPlaneStartTimeout: startTimeout}
	environment.ControlPlane.GetAPIServer().Configure().Set("max-requests-inflight", "4000").Set("max-mutating-requests-inflight", "2000").
		Set("etcd-compaction-interval", "0") // ours keeps all revisions
	environment.ControlPlane.Etcd = &envtest.Etcd{}
	environment.ControlPlane.Etcd.Configure().Set("unsafe-no-fsync", "true")
	if emulated != "" {
		environment.ControlPlane.GetAPIServer().Configure().Set("emulated-version", emulated)
	}
	cfg, err := environment.Start()
	return cfg, environment.Stop, err
}

// startOurs starts a cluster that is configured as envtest configures a real server.
func startOurs() (*fakecluster.Cluster, error) {
	klog.SetLogger(logr.Discard()) // upstream's code logs requests that are wrong
	return fakecluster.New(fakecluster.InProcess(), fakecluster.WithControllers(), fakecluster.WithAPIServerFlags(
		"--anonymous-auth=true", // as by default on a real server
		"--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true", "--authorization-mode=RBAC"))
}

// pair is both servers.
type pair struct {
	real, ours *play.Server
	config     *rest.Config // of the real server, or of ours if there is no real one
	stop       func() error
}

func startPair(ctx context.Context, emulated string) (*pair, error) {
	cfg, stop, err := startReal(ctx, emulated)
	if err != nil {
		return nil, err
	}
	ours, err := startOurs()
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	webhooks := play.NewWebhooks()
	p := &pair{config: cfg, stop: func() error {
		defer webhooks.Close()
		return errors.Join(ours.Close(), stop())
	}}
	if p.real, err = play.NewServer("real", cfg, webhooks); err == nil {
		p.ours, err = play.NewServer("ours", ours.RESTConfig(), webhooks)
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}
