package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Writes that the file has no space for are refused in the words of a real server whose etcd is full. They leave nothing
// behind: no object, no event, no revision, no address that a service would have got. When there is space again,
// they succeed.
func TestWritesToAFullDiskLeaveNothingBehind(t *testing.T) {
	folder := t.TempDir()
	data := filepath.Join(folder, "data")
	k := &killing{kubeconfig: filepath.Join(folder, "kubeconfig")}
	k.args = []string{"serve", "--data", data, "--kubeconfig", k.kubeconfig, "--controllers", "none"}
	k.start(t)
	in := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	object := func(kind, name string, more map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}}}
		for field, value := range more {
			u.Object[field] = value
		}
		return u
	}
	maps := k.client.Resource(configMaps).Namespace("default")
	for _, name := range []string{"there", "gone"} {
		if _, err := maps.Create(t.Context(), object("ConfigMap", name, nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.client.Resource(in("namespaces")).Create(t.Context(), object("Namespace", "doomed", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := func(name string) error {
		_, err := k.client.Resource(in("services")).Namespace("default").Create(t.Context(), object("Service", name, map[string]any{
			"spec": map[string]any{"type": "NodePort", "clusterIP": "10.0.0.77", "ports": []any{map[string]any{"port": int64(80), "nodePort": int64(30077)}}},
		}), metav1.CreateOptions{})
		return err
	}
	writes := []struct {
		what  string
		write func() error
	}{
		{"create", func() error {
			_, err := maps.Create(t.Context(), object("ConfigMap", "new", nil), metav1.CreateOptions{})
			return err
		}},
		{"patch", func() error {
			_, err := maps.Patch(t.Context(), "there", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
			return err
		}},
		{"create a service with an address", func() error { return service("a") }},
		{"create a namespace", func() error {
			_, err := k.client.Resource(in("namespaces")).Create(t.Context(), object("Namespace", "new", nil), metav1.CreateOptions{})
			return err
		}},
		{"delete a namespace", func() error {
			return k.client.Resource(in("namespaces")).Delete(t.Context(), "doomed", metav1.DeleteOptions{})
		}},
		{"delete a collection", func() error {
			return maps.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=there"})
		}},
		{"delete", func() error { return maps.Delete(t.Context(), "gone", metav1.DeleteOptions{}) }},
	}
	see := func() string {
		var names []string
		for _, resource := range []string{"configmaps", "services", "namespaces", "serviceaccounts"} {
			l, err := k.client.Resource(in(resource)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, fmt.Sprint(resource, " at ", l.GetResourceVersion()))
			for _, u := range l.Items {
				names = append(names, fmt.Sprint(u.GetNamespace(), "/", u.GetName(), " ", u.GetResourceVersion()))
			}
		}
		return strings.Join(names, "\n")
	}
	limit := func(bytes uint64) {
		t.Helper()
		if err := unix.Prlimit(k.process.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}, nil); err != nil {
			t.Fatal(err)
		}
	}

	info, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	before := see()
	const full = "etcdserver: mvcc: database space exceeded"
	limit(uint64(info.Size()) + 10) // a frame may even begin
	for _, w := range writes {
		err := w.write()
		code, text := int32(500), full
		if strings.Contains(w.what, "address") { // upstream's allocator returns this for any error
			code, text = 422, `Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.77"]: failed to allocate IP 10.0.0.77: `+full
		}
		status, ok := err.(apierrors.APIStatus)
		if !ok || status.Status().Code != code || status.Status().Message != text {
			t.Errorf("%s: %v", w.what, err)
		}
		if now := see(); now != before {
			t.Fatalf("%s has left something behind:\n%s\nbefore:\n%s", w.what, now, before)
		}
	}
	limit(unix.RLIM_INFINITY)
	for _, w := range writes {
		if err := w.write(); err != nil {
			t.Errorf("%s, with space: %v", w.what, err)
		}
	}
	after := see()
	k.kill(t)
	k.start(t)
	if now := see(); now != after {
		t.Errorf("after it was killed:\n%s\nbefore:\n%s", now, after)
	}
	k.kill(t)
}
