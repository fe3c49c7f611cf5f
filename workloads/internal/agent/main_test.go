package main

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

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
	must(t, os.WriteFile(config, []byte("nodes: 2\nbehaviors: [{image: web, message: one, usage: {cpu: 70m}}]\n"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	ended, lines := make(chan error, 1), make(chan string, 1)
	go func() { ended <- run(ctx, writer(func(line string) { lines <- line }), kubeconfig, config) }()
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

	// What Pods use is served by the API server.
	pods := metricsclient.NewForConfigOrDie(c.RESTConfig()).PodMetricses("default")
	used, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(used.Items) != 1 || used.Items[0].Containers[0].Usage.Cpu().String() != "70m" {
		t.Errorf("the Pods use %v, %v", used, err)
	}
	// What happens to nodes is a request to the URL. A node whose heartbeats have stopped does not report what its Pods use.
	url := strings.TrimPrefix(strings.TrimSpace(<-lines), "ready ")
	for _, r := range []struct {
		path string
		code int
		said string
		used int
	}{
		{"n1/heartbeats/stop", 200, "", -1},
		{"n2/heartbeats/stop", 200, "", 0},
		{"n1/heartbeats/resume", 200, "", -1},
		{"n2/heartbeats/resume", 200, "", 1},
		{"n1/pressure/DiskPressure/on", 200, "", 1},
		{"n1/pressure/Heat/on", 500, "condition Heat of node n1 cannot be set: use MemoryPressure, DiskPressure or PIDPressure\n", 1},
		{"n9/heartbeats/stop", 500, `node "n9" does not exist; the nodes are [n1 n2]` + "\n", 1},
	} {
		if code, said := post(t, url+"/nodes/"+r.path); code != r.code || said != r.said {
			t.Errorf("%s: %d %q", r.path, code, said)
		}
		if list, err := pods.List(t.Context(), metav1.ListOptions{}); r.used >= 0 && (err != nil || len(list.Items) != r.used) {
			t.Errorf("after %s: %v, %v", r.path, list, err)
		}
	}
	node, err := client.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
	if err != nil || !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeDiskPressure && c.Status == corev1.ConditionTrue
	}) {
		t.Errorf("n1 has the conditions %v, %v", node.Status.Conditions, err)
	}
}

// writer is a function that gets what is written.
type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// post sends a request without a body.
func post(t *testing.T, url string) (code int, body string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	response, err := client.Post(url, "", nil)
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(text)
}

func TestTheAgentRejectsAWrongConfiguration(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	must(t, os.WriteFile(config, []byte("behaviors:\n- {image: web, exitCode: 300}\n"), 0o600))
	if err := run(t.Context(), io.Discard, "", config); err == nil || !strings.Contains(err.Error(), "ExitCode is 300") {
		t.Errorf("an exit code of 300: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
