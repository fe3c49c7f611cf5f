package fakecluster_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// A migration that waits when its cluster is forked continues in the fork. In the original cluster
// it goes on waiting.
func TestAForkContinuesAMigration(t *testing.T) {
	c, webhook := converted(t)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": map[string]any{"name": "a"},
	}}
	if _, err := cronTabsIn(c, "v1beta1").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Patch(t.Context(), "crontabs.example.com", types.JSONPatchType, []byte(
		`[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`,
	), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	webhook.refuses.Store(true)
	migrations := schema.GroupVersionResource{Group: "storagemigration.k8s.io", Version: "v1", Resource: "storageversionmigrations"}
	migration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "storagemigration.k8s.io/v1", "kind": "StorageVersionMigration", "metadata": map[string]any{"name": "m"},
		"spec": map[string]any{"resource": map[string]any{"group": "example.com", "resource": "crontabs"}},
	}}
	if _, err := c.Dynamic().Resource(migrations).Create(t.Context(), migration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	webhook.refuses.Store(false)
	fork := c.Fork(t)
	for _, test := range []struct {
		what       string
		cluster    *fakecluster.Cluster
		conditions string
		says       string // of the first
	}{
		{"the cluster", c, "Running=True", "The migration is running, 1/1 objects not yet migrated; transient error: object not decodable revision=201: conversion webhook for example.com/v1beta1, Kind=CronTab failed: the server is currently unable to handle the request"},
		{"the fork", fork, "Running=False Succeeded=True", "Migration completed"},
	} {
		m, err := test.cluster.Dynamic().Resource(migrations).Get(t.Context(), "m", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		conditions, _, _ := unstructured.NestedSlice(m.Object, "status", "conditions")
		for _, each := range conditions {
			condition := each.(map[string]any)
			got = append(got, condition["type"].(string)+"="+condition["status"].(string))
		}
		if got := strings.Join(got, " "); got != test.conditions {
			t.Errorf("%s has conditions %s, want %s", test.what, got, test.conditions)
		}
		if says := conditions[0].(map[string]any)["message"]; says != test.says {
			t.Errorf("%s says %s, want %s", test.what, says, test.says)
		}
	}
}

// The store has migrations in v1beta1, which is served only on request.
func TestAMigrationIsCarriedOutWhateverVersionsAreServed(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithRuntimeConfig("storagemigration.k8s.io/v1beta1=true"))
	for _, version := range []string{"v1", "v1beta1"} {
		migrations := c.Dynamic().Resource(schema.GroupVersionResource{Group: "storagemigration.k8s.io", Version: version, Resource: "storageversionmigrations"})
		migration := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "storagemigration.k8s.io/" + version, "kind": "StorageVersionMigration", "metadata": map[string]any{"name": "in-" + version},
			"spec": map[string]any{"resource": map[string]any{"group": "", "resource": "namespaces"}},
		}}
		if _, err := migrations.Create(t.Context(), migration, metav1.CreateOptions{}); err != nil {
			t.Fatalf("in %s: %v", version, err)
		}
		m, err := migrations.Get(t.Context(), "in-"+version, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(m.Object, "status", "conditions")
		if len(conditions) != 2 || conditions[1].(map[string]any)["type"] != "Succeeded" {
			t.Errorf("in %s: conditions %v", version, conditions)
		}
	}
}

// A migration of a resource that does not exist fails a minute after its creation, in a fork as well.
func TestAMigrationWaitsAMinuteForItsResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		client := kubernetes.NewForConfigOrDie(c.RESTConfig()).StoragemigrationV1().StorageVersionMigrations()
		_, err := client.Create(t.Context(), &storagemigrationv1.StorageVersionMigration{
			ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: "example.com", Resource: "hats"}},
		}, metav1.CreateOptions{})
		must(t, err)
		time.Sleep(30 * time.Second)
		fork := c.Fork(t)
		for _, moment := range []struct {
			after  time.Duration
			failed bool
		}{{29 * time.Second, false}, {time.Second, true}} {
			time.Sleep(moment.after)
			synctest.Wait()
			for what, cluster := range map[string]*fakecluster.Cluster{"the cluster": c, "the fork": fork} {
				m, err := kubernetes.NewForConfigOrDie(cluster.RESTConfig()).StoragemigrationV1().StorageVersionMigrations().Get(t.Context(), "m", metav1.GetOptions{})
				must(t, err)
				equal(t, what+": failed", meta.IsStatusConditionTrue(m.Status.Conditions, string(storagemigrationv1.MigrationFailed)), moment.failed)
				equal(t, what+": runs", meta.IsStatusConditionTrue(m.Status.Conditions, string(storagemigrationv1.MigrationRunning)), !moment.failed)
			}
		}
	})
}
