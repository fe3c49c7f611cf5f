package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// serve starts a cluster with two Ready Nodes, and returns what ends it.
func (r runner) serve(ctx context.Context, kubeconfig string) (end func(), err error) {
	cmd := exec.CommandContext(ctx, r.server, "serve", "--kubeconfig", kubeconfig, "--controllers", "*", "--objects", nodes)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	end = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // what it says is on stderr
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready ") {
		err = errors.Join(fmt.Errorf("fakecluster serve said %q", line), err)
	} else {
		err = untaint(ctx, kubeconfig)
	}
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// untaint removes the taint that admission gives to new Nodes, as the controller of a real cluster does when they
// are Ready.
func untaint(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	all, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range all.Items {
		if _, err := client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}
