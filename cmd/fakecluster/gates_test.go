package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/internal/release"
)

// stopsBySignal reports whether a server keeps a field of the gate ContainerStopSignals, which is off by default.
func stopsBySignal(t *testing.T, client kubernetes.Interface) bool {
	t.Helper()
	signal := corev1.SIGUSR1
	pod, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.PodSpec{OS: &corev1.PodOS{Name: corev1.Linux}, Containers: []corev1.Container{{
			Name: "web", Image: "web", Lifecycle: &corev1.Lifecycle{StopSignal: &signal},
		}}},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	lifecycle := pod.Spec.Containers[0].Lifecycle
	return lifecycle != nil && lifecycle.StopSignal != nil
}

// The drop-in has the gates of its flag, beside those of its environment, and the version of its flag.
func TestTheDropInHasFeatureGates(t *testing.T) {
	suites := map[string]*suite{"WatchList=true": newSuite(t), "PodDeletionCost=true,ContainerStopSignals=true": newSuite(t)} // before the variables, which are for the drop-in
	t.Setenv("FAKECLUSTER_KUBERNETES_VERSION", "1.35")
	t.Setenv("FAKECLUSTER_FEATURE_GATES", "PodDeletionCost=false")
	for gates, s := range suites {
		want := strings.Contains(gates, "ContainerStopSignals=true")
		p := startProgram(t, asset(t, "kube-apiserver"), append(s.flags, "--disable-admission-plugins=ServiceAccount", "--emulated-version=1.36", "--min-compatibility-version=kube=1.36", "--feature-gates="+gates)...)
		client := s.as(t, "admin", "system:masters")
		if got := stopsBySignal(t, client); got != want {
			t.Errorf("--feature-gates=%s: the field is kept: %t, want %t", gates, got, want)
		}
		if version, err := client.Discovery().ServerVersion(); err != nil || version.EmulationMinor != "36" || version.MinCompatibilityMinor != "36" {
			t.Errorf("/version is %+v, %v", version, err)
		}
		p.stop(t)
	}
}

func TestFeatureGatesThatCannotBeSet(t *testing.T) {
	s := newSuite(t)
	for _, test := range []struct{ rule, environment, gates, want string }{
		{"an unknown gate", "", "Teleport=true", "--feature-gates: unrecognized feature gate: Teleport"},
		{"a gate of code that is fakecluster's own", "", "WatchList=false", "--feature-gates: fakecluster cannot set feature gate WatchList to false: it changes how requests are served"},
		{"a gate that another one needs", "", "TopologyAwareWorkloadScheduling=true",
			"FAKECLUSTER_FEATURE_GATES: TopologyAwareWorkloadScheduling is enabled, but depends on features that are disabled: [GenericWorkload]"},
		{"an unknown gate of the environment", "Teleport=true", "ContainerStopSignals=true", "FAKECLUSTER_FEATURE_GATES: unrecognized feature gate: Teleport"},
	} {
		t.Setenv("FAKECLUSTER_FEATURE_GATES", test.environment)
		if status, _, stderr := runProgram(t, asset(t, "kube-apiserver"), append(s.flags, "--feature-gates="+test.gates)...); status != failed || stderr != "Error: "+test.want+"\n" {
			t.Errorf("%s: status %d, stderr %q", test.rule, status, stderr)
		}
	}
	t.Setenv("FAKECLUSTER_FEATURE_GATES", "")
	for version, want := range map[string]string{
		"1.30": fmt.Sprintf("minCompatibilityVersion version 1.30 is not between [%s, %s]", release.Newest().SubtractMinor(3), release.Newest()), "foo": `could not parse "foo" as version`,
	} {
		if status, _, stderr := runProgram(t, asset(t, "kube-apiserver"), append(s.flags, "--min-compatibility-version="+version)...); status != failed || stderr != "Error: --min-compatibility-version: "+want+"\n" {
			t.Errorf("%s: status %d, stderr %q", version, status, stderr)
		}
	}
	var stdout, stderr bytes.Buffer
	if status := execute(t.Context(), []string{"serve", "--feature-gates", "Teleport=true"}, &stdout, &stderr); status != wrongUsage ||
		stderr.String() != "fakecluster: serve: --feature-gates: unrecognized feature gate: Teleport\n" {
		t.Errorf("status %d, stderr %q", status, &stderr)
	}
}
