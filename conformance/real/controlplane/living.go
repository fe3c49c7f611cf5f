package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const scheduler = "kube-scheduler"

// StartLiving starts kube-apiserver with the admission plugins that it has by default, etcd, kube-controller-manager with
// the controllers that it has by default, and kube-scheduler. Nodes have to be added.
func StartLiving(ctx context.Context, programs string) (*ControlPlane, error) {
	environment := &envtest.Environment{}
	// By default envtest turns off ServiceAccount.
	environment.ControlPlane.GetAPIServer().Configure().Disable("disable-admission-plugins")
	s, err := start(programs, environment)
	if err != nil {
		return nil, err
	}
	for _, program := range []struct {
		name string
		args []string
	}{
		{controllerManager, []string{"--use-service-account-credentials"}},
		{scheduler, nil},
	} {
		kubeconfig, err := s.writeKubeconfig("system:" + program.name)
		if err == nil {
			// By default they send 20 and 50 requests a second.
			args := append(program.args, "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=1000")
			err = s.run(ctx, program.name, args...)
		}
		if err != nil {
			return nil, errors.Join(err, s.Stop())
		}
	}
	return s, nil
}

// writeKubeconfig writes the kubeconfig of a user, who is in no group.
func (s *ControlPlane) writeKubeconfig(user string) (string, error) {
	u, err := s.environment.AddUser(envtest.User{Name: user}, nil)
	if err != nil {
		return "", fmt.Errorf("adding the user %s: %w", user, err)
	}
	content, err := u.KubeConfig()
	if err != nil {
		return "", err
	}
	file := filepath.Join(s.dir, user)
	return file, os.WriteFile(file, content, 0o600)
}
