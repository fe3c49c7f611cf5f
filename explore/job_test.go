package explore_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/junit"
	"github.com/fakecluster/fakecluster/workloads"
)

// The Job of docs/explore-operator.md runs a shard in each of its Pods, with the number of its Pod: here the program is this test, and one of the two
// shards finds the mistake of the operator.
func TestAnIndexedJobRunsShards(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("it explores in real time, by workloads.Command, which needs Linux")
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	folder, results := t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "testdata", "gadget"), os.DirFS(filepath.Join(here, "testdata/gadget"))); err != nil {
		t.Fatal(err)
	}
	const image = "ghcr.io/acme/exploration"
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "exploration"}, Spec: batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(2)), Parallelism: new(int32(2)), BackoffLimitPerIndex: new(int32(0)),
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
			Name: "explore", Image: image, Env: []corev1.EnvVar{{Name: child, Value: "1"}},
			Args: []string{"-test.run=^TestChildFinds$", "-explore.shard=$(JOB_COMPLETION_INDEX)/2", "-explore.junit=" + results + "/$(JOB_COMPLETION_INDEX)"},
		}}}},
	}}
	c := fakecluster.Start(t, fakecluster.WithObjects(job))
	workloads.Run(t, c, workloads.Nodes(1), workloads.Command(image, "/bin/sh", "-c", `cd "$0" && exec "$@"`, folder, executable))
	c.WaitFor(t, job, fakecluster.HasCondition("Failed").Within(5*time.Minute))

	files, err := filepath.Glob(filepath.Join(results, "*", "TestChildFinds.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var suites []junit.Suite
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		read, err := junit.Read(file)
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		suites = append(suites, read...)
	}
	got := map[string][]string{} // by the value of the property, and the findings
	merged := junit.Merge(suites...)
	if len(merged) != 1 {
		t.Fatalf("%d suites in %q", len(merged), files)
	}
	for _, p := range merged[0].Properties {
		got["shards"] = append(got["shards"], p.Value)
	}
	for _, c := range merged[0].Cases {
		for _, f := range c.Failures {
			got["findings"] = append(got["findings"], c.Name+": "+f.Message)
		}
	}
	want := map[string][]string{"shards": {"0/2", "1/2"}, "findings": {"path-independent: configmaps default/a-1 exists"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
