package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestTheAgentRunsPods runs the agent as a program would, beside controllers and a scheduler without nodes, until the Pod of a
// Deployment is available and a claim is bound to a volume.
func TestTheAgentRunsPods(t *testing.T) {
	c := fakecluster.Start(t)
	workloads.Run(t, c)
	dir := t.TempDir()
	kubeconfig, config := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "config.yaml")
	content, err := c.Kubeconfig()
	must(t, err)
	must(t, os.WriteFile(kubeconfig, content, 0o600))
	must(t, os.WriteFile(config, []byte("nodes: 2\nbehaviors: [{image: web, message: one}]\n"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, kubeconfig, config) }()
	defer func() {
		cancel()
		must(t, <-ended)
	}()

	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	labels := map[string]string{"app": "web"}
	d, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", Image: "web"}},
				Volumes: []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
					VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
						AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
						Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
					}},
				}}}},
			},
		}},
	}, metav1.CreateOptions{})
	must(t, err)
	c.WaitFor(t, d, fakecluster.HasCondition("Available"))
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 {
		t.Errorf("there are %d nodes, %v", len(nodes.Items), err)
	}
	// Events about containers name them.
	list, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=Started"})
	if err != nil || len(list.Items) != 1 || list.Items[0].InvolvedObject.FieldPath != "spec.containers{c}" {
		t.Errorf("%v, %v", list.Items, err)
	}
}

func TestTheAgentRejectsAWrongConfiguration(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	must(t, os.WriteFile(config, []byte("behaviors:\n- {image: web, exitCode: 300}\n"), 0o600))
	if err := run(t.Context(), "", config); err == nil || !strings.Contains(err.Error(), "ExitCode is 300") {
		t.Errorf("an exit code of 300: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
