package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/conformance/cache"
	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/real/controlplane"
)

// kwokVersion is the release of sigs.k8s.io/kwok beside which fakecluster is measured.
const kwokVersion = "v0.8.0"

// startKwok starts the real control plane, and the controller of kwok with its fast stages. These make a Pod ready with one write of its status, as
// soon as it is bound.
func startKwok(b *testing.B, nodes int) (*rest.Config, func()) {
	b.StopTimer()
	programs, err := controlplane.ProgramsFolder(b.Context(), "real/modules")
	check(b, err)
	program, err := cache.Program("kwok-"+kwokVersion, func(path string) error { return buildKwok(b.Context(), path) })
	check(b, err)
	flags, err := stages(b.Context())
	check(b, err)
	b.StartTimer()
	plane, err := controlplane.StartLiving(b.Context(), programs)
	check(b, err)
	kubeconfig := filepath.Join(b.TempDir(), "kubeconfig")
	check(b, writeKubeconfig(plane, kubeconfig))
	flags = append(flags, "--kubeconfig="+kubeconfig, "--manage-all-nodes", "--node-lease-duration-seconds=40", "--server-address=127.0.0.1:0", "-v=WARN")
	cmd := exec.CommandContext(b.Context(), program, flags...)
	cmd.Stderr = os.Stderr
	check(b, cmd.Start())
	stop := func() error {
		err := cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // with exit code 1 after SIGTERM
		return errors.Join(err, plane.Stop())
	}
	config := plane.RESTConfig()
	if err := createNodes(b.Context(), config, nodes); err != nil {
		b.Fatal(errors.Join(err, stop()))
	}
	return config, func() { check(b, stop()) }
}

// buildKwok builds the controller in a module of its own, with the versions of libraries that it is released with.
func buildKwok(ctx context.Context, path string) error {
	dir, err := os.MkdirTemp("", "kwok-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module github.com/fakecluster/fakecluster/conformance/living/kwok\n"), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"get", "sigs.k8s.io/kwok/cmd/kwok@" + kwokVersion}, {"build", "-o", path, "sigs.k8s.io/kwok/cmd/kwok"}} {
		if _, err := gotool.Output(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// stages returns the flags for the stages that kwok calls fast.
func stages(ctx context.Context) (flags []string, err error) {
	out, err := gotool.Output(ctx, os.TempDir(), "mod", "download", "-json", "sigs.k8s.io/kwok@"+kwokVersion)
	if err != nil {
		return nil, err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return nil, err
	}
	for _, stage := range []string{"node/fast/node-initialize", "node/heartbeat-with-lease/node-heartbeat-with-lease", "pod/fast/pod-ready", "pod/fast/pod-complete", "pod/fast/pod-delete"} {
		flags = append(flags, "--config="+filepath.Join(module.Dir, "kustomize/stage", stage+".yaml"))
	}
	return flags, nil
}

// createNodes creates Nodes, and returns when all are ready.
func createNodes(ctx context.Context, config *rest.Config, nodes int) error {
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	watched, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watched.Stop()
	for i := range nodes {
		name := fmt.Sprintf("n%d", i+1)
		_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	for ready := map[string]bool{}; len(ready) < nodes; {
		e, ok := <-watched.ResultChan()
		if !ok {
			return fmt.Errorf("%d of %d Nodes are ready", len(ready), nodes)
		}
		n, ok := e.Object.(*corev1.Node)
		if !ok {
			continue
		}
		for _, condition := range n.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready[n.Name] = true
			}
		}
	}
	return nil
}
