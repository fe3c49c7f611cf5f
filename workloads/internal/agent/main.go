// Command agent runs the nodes of a living cluster, and the provisioner of its volumes, against any API server:
//
//	agent -kubeconfig FILE [-config FILE]
//
// Module conformance runs it with the real kube-apiserver, kube-controller-manager and kube-scheduler, to compare them
// with a fakecluster. It prints "ready URL" when the nodes are registered and have lost the taint of new nodes, and ends
// with SIGTERM. The user of the kubeconfig must be an administrator who may impersonate the nodes.
//
// At the URL the agent serves metrics.k8s.io, for which it creates an APIService, and actions on nodes:
//
//	POST /nodes/NAME/heartbeats/stop or resume
//	POST /nodes/NAME/pressure/CONDITION/on or off
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/internal/description/living"
	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
	"github.com/fakecluster/fakecluster/workloads/internal/provisioner"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the `file` with the credentials of an administrator")
	config := flag.String("config", "", "a YAML `file` with nodes and behaviors, as for fakecluster serve --workloads-config")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *kubeconfig, *config); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, kubeconfig, config string) error {
	nodes, behaviors, err := read(config)
	if err != nil {
		return err
	}
	admin, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	admin.QPS = -1
	client, err := kubernetes.NewForConfig(withUserAgent(admin, "volume-provisioner"))
	if err != nil {
		return err
	}
	if err := permit(ctx, client); err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, 0)
	report := func(err error) { fmt.Fprintln(os.Stderr, "agent:", err) }
	programs, err := cri.New(cri.Config{Behaviors: behaviors, Services: shared.Core().V1().Services().Lister(), Report: report})
	if err != nil {
		return err
	}
	agent, err := node.Start(ctx, node.Config{
		Nodes: nodes, Programs: programs, Informers: shared,
		Client: func(user string, groups ...string) (kubernetes.Interface, error) {
			c := withUserAgent(admin, "kubelet")
			c.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
			return kubernetes.NewForConfig(c)
		},
		Report: report,
	})
	if err != nil {
		return err
	}
	volumes, err := provisioner.Start(ctx, provisioner.Config{Client: client, Informers: shared})
	if err != nil {
		return err
	}
	address, err := serve(ctx, agent, programs, shared)
	if err != nil {
		return err
	}
	shared.StartWithContext(ctx)
	if late := agent.WaitReady(ctx, true); len(late) > 0 {
		return fmt.Errorf("%s", late[0])
	}
	if err := announceMetrics(ctx, admin, address); err != nil {
		return err
	}
	fmt.Fprintf(w, "ready https://%s\n", address)
	agent.Wait()
	volumes.Wait()
	shared.Shutdown()
	return nil
}

// read reads the nodes and behaviors of a file. Without a file it returns the default ones.
func read(file string) ([]*corev1.Node, []living.Behavior, error) {
	if file == "" {
		return node.Nodes(living.DefaultNodes), nil, nil
	}
	data, err := manifests.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	c, err := living.ReadFile(file, data)
	switch {
	case err != nil:
		return nil, nil, err
	case c.Nodes.Objects != nil:
		return c.Nodes.Objects, c.Behaviors, nil
	case c.Nodes.Count == 0:
		c.Nodes.Count = living.DefaultNodes
	}
	return node.Nodes(c.Nodes.Count), c.Behaviors, nil
}

// withUserAgent returns a copy of a configuration, with the user agent of a program.
func withUserAgent(config *rest.Config, program string) *rest.Config {
	c := rest.CopyConfig(config)
	c.UserAgent = program + "/fakecluster"
	return c
}

// permit gives the nodes the same permissions as in a living cluster.
func permit(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "workloads:nodes"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:nodes"}},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
