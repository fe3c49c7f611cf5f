package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

var (
	cronTabs = schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}
	cronTab  = cronTabs.GroupVersion().WithKind("CronTab")
	crds     = filepath.Join("testdata", "crontabs.yaml")
)

// objects are the CronTabs of one namespace, at one of the peers.
type objects interface {
	create(context.Context, *unstructured.Unstructured) error
	get(ctx context.Context, name string) (*unstructured.Unstructured, error)
	update(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	mergePatch(ctx context.Context, name string, patch []byte) error
	// apply is errors.ErrUnsupported where there is none.
	apply(context.Context, *unstructured.Unstructured) error
	list(context.Context) (int, error)
	watch(context.Context) (watch.Interface, error)
}

// peers are those that are measured, by name. Each starts anew for a benchmark, until
// it is stopped.
var peers = []struct {
	name  string
	start func(testing.TB) (o objects, stop func())
}{
	{"fakecluster", func(t testing.TB) (objects, func()) { return startCluster(t) }},
	{"fakecluster-in-process", func(t testing.TB) (objects, func()) { return startCluster(t, fakecluster.InProcess()) }},
	{"dynamic-fake", func(testing.TB) (objects, func()) {
		kinds := map[schema.GroupVersionResource]string{cronTabs: "CronTabList"}
		return withoutApply{inNamespace(fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds))}, func() {}
	}},
	{"controller-runtime-fake", func(testing.TB) (objects, func()) {
		s := runtime.NewScheme()
		s.AddKnownTypeWithName(cronTab, &unstructured.Unstructured{})
		s.AddKnownTypeWithName(cronTabs.GroupVersion().WithKind("CronTabList"), &unstructured.UnstructuredList{})
		metav1.AddToGroupVersion(s, cronTabs.GroupVersion())
		return runtimeObjects{runtimefake.NewClientBuilder().WithScheme(s).Build()}, func() {}
	}},
	{"envtest", func(t testing.TB) (objects, func()) {
		if os.Getenv("KUBEBUILDER_ASSETS") == "" {
			t.Skip("KUBEBUILDER_ASSETS names no folder with its binaries")
		}
		e := &envtest.Environment{CRDDirectoryPaths: []string{crds}}
		config, err := e.Start()
		if err != nil {
			t.Fatal(err)
		}
		config.QPS = -1
		return inNamespace(dynamic.NewForConfigOrDie(config)), func() { _ = e.Stop() }
	}},
}

func startCluster(t testing.TB, options ...fakecluster.Option) (objects, func()) {
	c, err := fakecluster.New(append(options, fakecluster.WithCRDPaths(crds))...)
	if err != nil {
		t.Fatal(err)
	}
	return inNamespace(c.Dynamic()), func() { _ = c.Close() }
}

// dynamicObjects are those that a dynamic client reaches.
type dynamicObjects struct{ dynamic.ResourceInterface }

func inNamespace(c dynamic.Interface) dynamicObjects {
	return dynamicObjects{c.Resource(cronTabs).Namespace("default")}
}

func (o dynamicObjects) create(ctx context.Context, u *unstructured.Unstructured) error {
	_, err := o.Create(ctx, u, metav1.CreateOptions{})
	return err
}

func (o dynamicObjects) get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return o.Get(ctx, name, metav1.GetOptions{})
}

func (o dynamicObjects) update(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return o.Update(ctx, u, metav1.UpdateOptions{})
}

func (o dynamicObjects) mergePatch(ctx context.Context, name string, patch []byte) error {
	_, err := o.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (o dynamicObjects) apply(ctx context.Context, u *unstructured.Unstructured) error {
	_, err := o.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: "benchmark", Force: true})
	return err
}

func (o dynamicObjects) list(ctx context.Context) (int, error) {
	l, err := o.List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	return len(l.Items), nil
}

func (o dynamicObjects) watch(ctx context.Context) (watch.Interface, error) {
	return o.Watch(ctx, metav1.ListOptions{})
}

// withoutApply are objects of a client that knows no types to apply by.
type withoutApply struct{ dynamicObjects }

func (withoutApply) apply(context.Context, *unstructured.Unstructured) error {
	return errors.ErrUnsupported
}

// runtimeObjects are those of controller-runtime's fake client.
type runtimeObjects struct{ client.WithWatch }

func (o runtimeObjects) create(ctx context.Context, u *unstructured.Unstructured) error {
	return o.Create(ctx, u)
}

func (o runtimeObjects) get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(cronTab)
	return u, o.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, u)
}

func (o runtimeObjects) update(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return u, o.Update(ctx, u)
}

func (o runtimeObjects) mergePatch(ctx context.Context, name string, patch []byte) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(cronTab)
	u.SetNamespace("default")
	u.SetName(name)
	return o.Patch(ctx, u, client.RawPatch(types.MergePatchType, patch))
}

func (runtimeObjects) apply(context.Context, *unstructured.Unstructured) error {
	return errors.ErrUnsupported
}

func (o runtimeObjects) list(ctx context.Context) (int, error) {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(cronTabs.GroupVersion().WithKind("CronTabList"))
	err := o.List(ctx, l, client.InNamespace("default"))
	return len(l.Items), err
}

func (o runtimeObjects) watch(ctx context.Context) (watch.Interface, error) {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(cronTabs.GroupVersion().WithKind("CronTabList"))
	return o.Watch(ctx, l, client.InNamespace("default"))
}

// newCronTab is a CronTab of 446 bytes, like that of the budget. Names are as long
// as each other.
func newCronTab(n int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": map[string]any{
			"name": nameOf(n), "namespace": "default",
			"labels": map[string]any{"app.kubernetes.io/name": "crontab", "app.kubernetes.io/part-of": "benchmark"},
		},
		"spec": map[string]any{
			"cronSpec": "* * * * */5", "image": "registry.example.com/team/my-awesome-cron-image:v1.2.3",
			"replicas": int64(3), "minReplicas": int64(1), "maxReplicas": int64(1_000_000_000), "suspend": false,
			"args": []any{"--verbose", "--retries=3", "xxxxxxxxxx"},
		},
	}}
}

func nameOf(n int) string { return fmt.Sprintf("cron-%07d", n) }
