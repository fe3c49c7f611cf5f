// Package controlplane runs a real kube-apiserver with etcd, and beside it either the controllers that act in a fakecluster by
// default, or all controllers and the scheduler.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fakecluster/fakecluster/conformance/real/programs"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// assets is the variable that names the folder of the programs, if they are not to be built.
const assets = "KUBEBUILDER_ASSETS"

// ProgramsFolder returns the folder of the real programs: the one that KUBEBUILDER_ASSETS names, or
// without it one where they are built. modules is the folder of the module that says in which versions.
func ProgramsFolder(ctx context.Context, modules string) (string, error) {
	dir := os.Getenv(assets)
	if dir == "" {
		return programs.Folder(ctx, modules)
	}
	for _, program := range []string{"kube-apiserver", "etcd", controllerManager} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			return "", fmt.Errorf("%s: %w; without it the programs are built", assets, err)
		}
	}
	return dir, nil
}

const controllerManager = "kube-controller-manager"

// ControlPlane is a real control plane.
type ControlPlane struct {
	programs    string
	environment *envtest.Environment
	running     []*exec.Cmd
	// dir has the kubeconfigs of what runs.
	dir string
	cfg *rest.Config
}

// Start starts kube-apiserver and etcd as envtest does, and the controllers that act in a fakecluster
// by default. crds are files and folders of definitions that are served from the start.
func Start(ctx context.Context, programs string, crds ...string) (*ControlPlane, error) {
	s, err := start(programs, &envtest.Environment{CRDDirectoryPaths: crds})
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(s.dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, s.environment.KubeConfig, 0o600); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	// The migrator of storage versions uses the list of kinds of the garbage collector, which begins here
	// and, without a worker, collects nothing: that of a fakecluster does not run by default.
	controllers := []string{"garbage-collector-controller"}
	for _, c := range fakecluster.DefaultControllers() {
		controllers = append(controllers, string(c))
	}
	err = s.run(ctx, controllerManager, "--kubeconfig="+kubeconfig, "--controllers="+strings.Join(controllers, ","), "--concurrent-gc-syncs=0", "--leader-elect=false", "--secure-port=0",
		// Policies and webhooks see which controller asks.
		"--use-service-account-credentials",
		// By default it looks every five minutes at the quotas whose kinds it has learned of later.
		"--resource-quota-sync-period=10s",
		// By default it sends 20 requests a second, and asks for more than sixty kinds before a namespace is empty.
		"--kube-api-qps=1000", "--kube-api-burst=1000")
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// start starts kube-apiserver and etcd.
func start(programs string, environment *envtest.Environment) (_ *ControlPlane, err error) {
	crlog.SetLogger(logr.Discard()) // of envtest, which would say that nobody has set one
	klog.SetLogger(logr.Discard())
	environment.BinaryAssetsDirectory = programs
	s := &ControlPlane{programs: programs, environment: environment}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("starting the programs in %s: %w", programs, err), s.Stop())
		}
	}()
	if s.cfg, err = s.environment.Start(); err != nil {
		return nil, err
	}
	s.dir, err = os.MkdirTemp("", "fakecluster-portable-")
	return s, err
}

// run runs a program until Stop.
func (s *ControlPlane) run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(s.programs, program), args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	s.running = append(s.running, cmd)
	return nil
}

// RESTConfig returns how an administrator reaches the server.
func (s *ControlPlane) RESTConfig() *rest.Config { return rest.CopyConfig(s.cfg) }

// Kubeconfig returns a kubeconfig of a user of the group system:masters.
func (s *ControlPlane) Kubeconfig(user string) ([]byte, error) {
	u, err := s.environment.AddUser(envtest.User{Name: user, Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return nil, err
	}
	return u.KubeConfig()
}

// Stop ends the programs and returns when they are gone.
func (s *ControlPlane) Stop() error {
	for _, cmd := range s.running {
		// It keeps nothing, and would wait for its watches.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	err := s.environment.Stop()
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}
