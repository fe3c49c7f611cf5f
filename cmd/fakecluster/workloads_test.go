package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// TestServeLivesOnAfterARestart proves that --workloads runs Pods in real time, that SIGTERM ends it cleanly, and that with
// --data the Pods of the last time go on without a restart.
func TestServeLivesOnAfterARestart(t *testing.T) {
	folder := t.TempDir()
	config := filepath.Join(folder, "workloads.yaml")
	if err := os.WriteFile(config, []byte("nodes: 2\nbehaviors:\n- {image: web, readyDelay: 1ms, usage: {cpu: 100m}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	run := func(use func(kubernetes.Interface)) {
		t.Helper()
		child := startServe(t, "--kubeconfig", kubeconfig, "--data", filepath.Join(folder, "data"), "--workloads", "--workloads-config", config)
		client, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		use(kubernetes.NewForConfigOrDie(client))
		child.end(syscall.SIGTERM)
	}
	labels := map[string]string{"app": "web"}
	replicas := int32(2)
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web"}}},
		}},
	}
	started := map[string]metav1.Time{} // when the containers have, by the names of their Pods
	run(func(client kubernetes.Interface) {
		if _, err := client.AppsV1().Deployments("default").Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		waitForReplicas(t, client, 2)
		for _, pod := range podsOf(t, client) {
			started[pod.Name] = pod.Status.ContainerStatuses[0].State.Running.StartedAt
			if pod.Spec.NodeName != "n1" && pod.Spec.NodeName != "n2" {
				t.Errorf("the Pod %s is on %q", pod.Name, pod.Spec.NodeName)
			}
		}
	})
	run(func(client kubernetes.Interface) {
		if _, err := client.AppsV1().Deployments("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		waitForReplicas(t, client, 3)
		for _, pod := range podsOf(t, client) {
			status := pod.Status.ContainerStatuses[0]
			if before, ok := started[pod.Name]; ok && (status.RestartCount > 0 || !status.State.Running.StartedAt.Equal(&before)) {
				t.Errorf("the container of Pod %s has restarted: %+v", pod.Name, status)
			}
			delete(started, pod.Name)
		}
		if len(started) > 0 {
			t.Errorf("Pods have been replaced: %v", started)
		}
	})
}

// TestServeKeepsNamespacesForTheirGrace proves that a namespace ends as in a real cluster, with and without --workloads: what is
// deleted right after it is still there, and the name is taken.
func TestServeKeepsNamespacesForTheirGrace(t *testing.T) {
	for _, flags := range [][]string{nil, {"--workloads", "--nodes", "1"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			child := startServe(t, append([]string{"--kubeconfig", kubeconfig}, flags...)...)
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			client := kubernetes.NewForConfigOrDie(config).CoreV1()
			app := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app"}}
			if _, err := client.Namespaces().Create(t.Context(), app, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.ConfigMaps("app").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cfg"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := client.Namespaces().Delete(t.Context(), "app", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := client.ConfigMaps("app").Delete(t.Context(), "cfg", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
			_, err = client.Namespaces().Create(t.Context(), app, metav1.CreateOptions{})
			if want := `object is being deleted: namespaces "app" already exists`; err == nil || err.Error() != want {
				t.Errorf("creating the namespace again fails with %v, and has to fail with %s", err, want)
			}
			child.end(syscall.SIGTERM)
		})
	}
}

// TestServeRunsAProgram proves that --program runs a program of the machine as the container of its image.
func TestServeRunsAProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("programs of containers run on Linux only")
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	child := startServe(t, "--kubeconfig", kubeconfig, "--workloads", "--nodes", "1", "--program", "example.com/tool=/bin/sh")
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default")
	changes, err := pods.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "tool"}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "c", Image: "example.com/tool:v1", Args: []string{"-c", `echo "$0 on $COLOR"; exit 3`, "runs"}, Env: []corev1.EnvVar{{Name: "COLOR", Value: "red"}}}},
	}}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for change := range changes.ResultChan() {
		p, ok := change.Object.(*corev1.Pod)
		if !ok || p.Status.Phase != corev1.PodFailed {
			continue
		}
		if code := p.Status.ContainerStatuses[0].State.Terminated.ExitCode; code != 3 {
			t.Errorf("the exit code is %d", code)
		}
		break
	}
	log, err := pods.GetLogs("tool", &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || string(log) != "runs on red\n" {
		t.Errorf("the log is %q, %v", log, err)
	}
	child.end(syscall.SIGTERM)
}

// TestAScenarioRunsAProgram proves that a program of a scenario is found beside its file, and runs in real time.
func TestAScenarioRunsAProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("programs of containers run on Linux only")
	}
	folder := t.TempDir()
	for name, content := range map[string]string{
		"tool": "#!/bin/sh\n[ \"$*\" = -v ] && exit 3\n",
		"tool.yaml": `
scenario: a program runs
workloads: {nodes: 1, programs: [{image: tool, path: ./tool, args: [-v]}]}
steps:
- create: {apiVersion: v1, kind: Pod, metadata: {name: tool}, spec: {restartPolicy: Never, containers: [{name: c, image: "tool:v1"}]}}
- get: {apiVersion: v1, kind: Pod, name: tool}
  eventually: 30s
  expect: {status: {phase: Failed, containerStatuses: [{state: {terminated: {exitCode: 3}}}]}}
`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if status := execute(t.Context(), []string{"run", folder}, &stdout, &stderr); status != 0 {
		t.Errorf("status %d: %s%s", status, &stdout, &stderr)
	}
}

// TestAConfigurationMayLeaveNamespacesToTheWrite proves that serve keeps the namespace-controller that acts within a write if upstream's does not run.
func TestAConfigurationMayLeaveNamespacesToTheWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "workloads.yaml")
	for content, want := range map[string]bool{
		"nodes: 1": true, `controllers: ["*"]`: true, "controllers: [namespace-controller]": true,
		`controllers: ["*", "-namespace-controller"]`: false, "controllers: [job-controller]": false, "controllers: []": false,
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := (&livingFlags{config: file}).endsNamespaces(); got != want {
			t.Errorf("%s: upstream's controller runs: %v, want %v", content, got, want)
		}
	}
}

// TestServeEndsNamespacesAfterARestart proves that a namespace which is ending when serve is stopped is there with its content after the
// next start, and goes on to end.
func TestServeEndsNamespacesAfterARestart(t *testing.T) {
	for _, flags := range [][]string{nil, {"--workloads", "--nodes", "1"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			kubeconfig := filepath.Join(folder, "kubeconfig")
			start := func() (*serveProcess, corev1client.CoreV1Interface) {
				child := startServe(t, append([]string{"--kubeconfig", kubeconfig, "--data", filepath.Join(folder, "data")}, flags...)...)
				config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
				if err != nil {
					t.Fatal(err)
				}
				return child, kubernetes.NewForConfigOrDie(config).CoreV1()
			}
			child, client := start()
			app := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app"}}
			if _, err := client.Namespaces().Create(t.Context(), app, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.ConfigMaps("app").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cfg"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := client.Namespaces().Delete(t.Context(), "app", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			child.end(syscall.SIGTERM)

			child, client = start()
			if _, err := client.ConfigMaps("app").Get(t.Context(), "cfg", metav1.GetOptions{}); err != nil {
				t.Errorf("right after the start: %v", err)
			}
			namespaces, err := client.Namespaces().List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=app"})
			if err != nil || len(namespaces.Items) != 1 || namespaces.Items[0].Status.Phase != corev1.NamespaceTerminating {
				t.Fatalf("the namespaces after the start are %+v; %v", namespaces, err)
			}
			changes, err := client.Namespaces().Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=app", ResourceVersion: namespaces.ResourceVersion})
			if err != nil {
				t.Fatal(err)
			}
			for change := range changes.ResultChan() {
				if change.Type == watch.Deleted {
					changes.Stop()
				}
			}
			if _, err := client.Namespaces().Get(t.Context(), "app", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("the namespace is still there: %v", err)
			}
			child.end(syscall.SIGTERM)
		})
	}
}

// waitForReplicas returns when the Deployment web has as many replicas available.
func waitForReplicas(t *testing.T, client kubernetes.Interface, n int32) {
	t.Helper()
	w, err := client.AppsV1().Deployments("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if d, ok := event.Object.(*appsv1.Deployment); ok && d.Status.AvailableReplicas == n {
			return
		}
	}
	t.Fatalf("the watch ends before there are %d replicas", n)
}

func podsOf(t *testing.T, client kubernetes.Interface) []corev1.Pod {
	t.Helper()
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

func TestServeRejectsWrongWorkloads(t *testing.T) {
	config := filepath.Join(t.TempDir(), "w.yaml")
	for _, test := range []struct {
		name, config string
		args         []string
		status       int
		want         string
	}{
		{"nodes alone", "", []string{"--nodes", "2"}, 2, "--nodes: needs --workloads"},
		{"a configuration alone", "", []string{"--workloads-config", config}, 2, "--workloads-config: needs --workloads"},
		{"a control plane alone", "", []string{"--control-plane"}, 2, "--control-plane: needs --workloads"},
		{"a program alone", "", []string{"--program", "a=b"}, 2, "--program: needs --workloads"},
		{"a program without an image", "", []string{"--workloads", "--program", "bin/manager"}, 2,
			`--program: "bin/manager" is not IMAGE=PATH, such as ghcr.io/acme/operator=./bin/manager`},
		{"a program that does not exist", "", []string{"--workloads", "--program", "operator=/none"}, 1, "workloads: Image or Command: the program /none: "},
		{"a behavior alone", "", []string{"--behavior", "{image: a, admission: allow}"}, 2, "--behavior: needs --workloads"},
		{"a provisioner alone", "", []string{"--provisioner", "*"}, 2, "--provisioner: needs --workloads"},
		{"an impossible behavior", "", []string{"--workloads", "--behavior", "{image: a, admission: deny}"}, 2,
			`--behavior "{image: a, admission: deny}": the behavior of image a: the field Admission is "deny"; write "allow", or leave it out`},
		{"a program of the file that does not exist", "programs: [{image: a, path: ./none}]", []string{"--workloads", "--workloads-config", config}, 1,
			"workloads: Image or Command: the program " + filepath.Join(filepath.Dir(config), "none") + ": "},
		{"no nodes", "", []string{"--workloads", "--nodes", "0"}, 2, "--nodes: 0 is too few; write at least 1"},
		{"a recording", "", []string{"--workloads", "--record", filepath.Join(t.TempDir(), "session.yaml")}, 2,
			"--record and --workloads exclude each other, because a scenario has the requests of clients only; leave one of them out"},
		{"a mistake in the file", "behaviors:\n- {image: web, crash: true}\n", []string{"--workloads", "--workloads-config", config}, 1,
			"workloads: " + config + ":2:16: unknown field \"crash\" (allowed: "},
		{"nodes twice", "nodes: 4\n", []string{"--workloads", "--nodes", "2", "--workloads-config", config}, 1,
			"workloads: " + config + " has nodes, and the option Nodes is given, too; leave one of them out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := os.WriteFile(config, []byte(test.config), 0o600); err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			status := execute(t.Context(), append([]string{"serve"}, test.args...), io.Discard, &stderr)
			if status != test.status || !strings.HasPrefix(stderr.String(), "fakecluster: serve: "+test.want) {
				t.Errorf("status %d, stderr %q; want %d, %q", status, &stderr, test.status, test.want)
			}
		})
	}
}
