package main

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/fakecluster/fakecluster/conformance/real/controlplane"
	"github.com/fakecluster/fakecluster/conformance/serve"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// BenchmarkRollout measures the real control plane and fakecluster with the same nodes, and the real control plane with those of kwok, in real time:
// how long it takes until the nodes are ready, and then until all Pods of Deployments are available. The agent takes 0.2 to 0.6 seconds to pull an
// image and to start a container, and kwok none. In bubbles that takes no time: BenchmarkWorkloads of the module benchmarks measures fakecluster
// there.
func BenchmarkRollout(b *testing.B) {
	b.Chdir("..")
	for _, c := range []struct{ nodes, deployments, replicas int }{{3, 1, 3}, {20, 100, 10}, {100, 100, 10}, {100, 1000, 10}} {
		for _, cluster := range []struct {
			name  string
			start func(b *testing.B, nodes int) (*rest.Config, func())
		}{{"real", startReal}, {"kwok", startKwok}, {"fakecluster", startHere}} {
			b.Run(fmt.Sprintf("%dx%d-on-%d/%s", c.deployments, c.replicas, c.nodes, cluster.name), func(b *testing.B) {
				var start, rollout time.Duration
				for b.Loop() {
					func() {
						began := time.Now()
						config, stop := cluster.start(b, c.nodes)
						defer stop() // also after a failure
						start += time.Since(began)
						began = time.Now()
						rollOut(b, config, c.deployments, int32(c.replicas))
						rollout += time.Since(began)
					}()
				}
				b.ReportMetric(float64(start.Milliseconds())/float64(b.N), "start-ms")
				b.ReportMetric(float64(rollout.Milliseconds())/float64(b.N), "rollout-ms")
			})
		}
	}
}

// startReal starts the real control plane and the agent, which have been built.
func startReal(b *testing.B, nodes int) (*rest.Config, func()) {
	b.StopTimer()
	build, err := buildReal(b.Context(), map[string]any{"nodes": nodes})
	check(b, err)
	b.StartTimer()
	plane, err := controlplane.StartLiving(b.Context(), build.programs)
	check(b, err)
	kubeconfig := filepath.Join(b.TempDir(), "kubeconfig")
	check(b, writeKubeconfig(plane, kubeconfig))
	_, end, err := serve.Start(b.Context(), build.agent(), "-kubeconfig", kubeconfig, "-config", build.config())
	check(b, err)
	return plane.RESTConfig(), func() {
		check(b, end())
		check(b, plane.Stop())
		build.remove()
	}
}

func startHere(b *testing.B, nodes int) (*rest.Config, func()) {
	c, err := fakecluster.New()
	check(b, err)
	w, err := workloads.New(c, workloads.Nodes(nodes))
	check(b, err)
	return c.RESTConfig(), func() {
		check(b, w.Close())
		check(b, c.Close())
	}
}

// rollOut creates Deployments, and returns when all of their Pods are available.
func rollOut(b *testing.B, config *rest.Config, deployments int, replicas int32) {
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	check(b, err)
	inDefault := client.AppsV1().Deployments(metav1.NamespaceDefault)
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	listed, err := inDefault.List(ctx, metav1.ListOptions{})
	check(b, err)
	// An API server under load ends watches whose client reads too slowly.
	watched, err := watchtools.NewRetryWatcherWithContext(ctx, listed.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: inDefault.Watch})
	check(b, err)
	defer watched.Stop()
	for i := range deployments {
		labels := map[string]string{"app": fmt.Sprintf("web-%d", i)}
		_, err := inDefault.Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: labels["app"]},
			Spec: appsv1.DeploymentSpec{
				Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}}},
				},
			},
		}, metav1.CreateOptions{})
		check(b, err)
	}
	for available := map[string]bool{}; len(available) < deployments; {
		e, ok := <-watched.ResultChan()
		if !ok {
			b.Fatalf("%d of %d Deployments are available", len(available), deployments)
		}
		if d, ok := e.Object.(*appsv1.Deployment); ok && d.Status.AvailableReplicas == replicas {
			available[d.Name] = true
		}
	}
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
