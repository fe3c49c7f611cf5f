package benchmarks

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// manyObjects is how many objects go with what BenchmarkDeletion deletes.
const manyObjects = 10_000

// BenchmarkDeletion deletes what takes 10,000 ConfigMaps along: a namespace, and an object
// that owns them, with garbage collection. All of them are gone when the request is answered.
func BenchmarkDeletion(b *testing.B) {
	for _, c := range []struct {
		name    string
		options []fakecluster.Option
		make    func(ctx context.Context, k kubernetes.Interface) (namespace string, owners []metav1.OwnerReference, err error)
		remove  func(ctx context.Context, k kubernetes.Interface) error
	}{
		{
			name: "namespace",
			make: func(ctx context.Context, k kubernetes.Interface) (string, []metav1.OwnerReference, error) {
				_, err := k.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}}, metav1.CreateOptions{})
				return "doomed", nil, err
			},
			remove: func(ctx context.Context, k kubernetes.Interface) error {
				return k.CoreV1().Namespaces().Delete(ctx, "doomed", metav1.DeleteOptions{})
			},
		},
		{
			name: "cascade", options: []fakecluster.Option{fakecluster.WithControllers(fakecluster.NamespaceController, fakecluster.GarbageCollector)},
			make: func(ctx context.Context, k kubernetes.Interface) (string, []metav1.OwnerReference, error) {
				owner, err := k.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
				return "default", []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}}, err
			},
			remove: func(ctx context.Context, k kubernetes.Interface) error {
				return k.CoreV1().ConfigMaps("default").Delete(ctx, "owner", metav1.DeleteOptions{})
			},
		},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				cluster := fakecluster.Start(b, append(c.options, fakecluster.InProcess())...)
				k, err := kubernetes.NewForConfig(cluster.RESTConfig())
				if err != nil {
					b.Fatal(err)
				}
				namespace, owners, err := c.make(b.Context(), k)
				if err != nil {
					b.Fatal(err)
				}
				for i := range manyObjects {
					one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%d", i), OwnerReferences: owners}, Data: map[string]string{"key": "value"}}
					if _, err := k.CoreV1().ConfigMaps(namespace).Create(b.Context(), one, metav1.CreateOptions{}); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if err := c.remove(b.Context(), k); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				left, err := k.CoreV1().ConfigMaps(namespace).List(b.Context(), metav1.ListOptions{})
				if err != nil || len(left.Items) > 0 {
					b.Fatalf("%d objects are left, %v", len(left.Items), err)
				}
				if err := cluster.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
