package server

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/apiserver/pkg/admission"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/store"
)

// beforeCommit is called for each write before its commit, and may reject the write.
type beforeCommit func(w *admission.Write) error

func (f beforeCommit) Mutate(context.Context, *admission.Write) error { return nil }
func (f beforeCommit) Validate(_ context.Context, w *admission.Write) error {
	return f(w)
}

// TestNamespaceWithAPodBetweenTheWritesOfItsDeletion deletes a namespace with a Pod, which takes two writes: the first
// sets the grace period to zero, and the second removes the Pod. Between them the store is forked, or the second write is
// rejected and the controller tries again. No Pod and no namespace may be left.
func TestNamespaceWithAPodBetweenTheWritesOfItsDeletion(t *testing.T) {
	for _, rejected := range []bool{false, true} {
		name := "forked"
		if rejected {
			name = "rejected"
		}
		t.Run(name, func(t *testing.T) {
			var c *Cluster
			var forked *store.Store
			deletes := 0
			c = started(t, Options{Controllers: []string{string(controller.Namespaces)}, Functions: beforeCommit(func(w *admission.Write) error {
				if w.GetOperation() != upstream.Delete || w.GetKind().Kind != "Pod" {
					return nil
				}
				if deletes++; deletes != 2 {
					return nil
				}
				if rejected {
					return errors.New("not now")
				}
				var err error
				forked, err = c.Store.Fork()
				return err
			})})
			c.Messages.To(func(string) {}) // the controller reports the rejection
			namespaces := corev1.Resource("namespaces")
			create(t, c, namespaces, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
			create(t, c, corev1.Resource("pods"), "ns", &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "p"},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{
						Name: "c", Image: "i", ImagePullPolicy: corev1.PullAlways, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
					}},
					RestartPolicy: corev1.RestartPolicyNever, DNSPolicy: corev1.DNSDefault, TerminationGracePeriodSeconds: new(int64),
				},
			})
			if err := c.Kinds.Delete(namespaces, "", "ns"); err != nil {
				t.Fatal(err)
			}
			left := c
			if rejected {
				if _, err := c.own.Put(t.Context(), namespaces, "", "ns", func(obj runtime.Object) (runtime.Object, error) {
					obj.(metav1.Object).SetLabels(map[string]string{"a": "b"})
					return obj, nil
				}); err != nil && !apierrors.IsNotFound(err) {
					t.Fatal(err)
				}
			} else {
				defer forked.Close()
				var err error
				if left, err = c.Fork(forked, nil); err != nil {
					t.Fatal(err)
				}
				defer left.Close()
			}
			if pods := names(t, left, "pods", "ns"); len(pods) > 0 {
				t.Errorf("pods %v are left", pods)
			}
			if _, err := left.Kinds.Object(namespaces, "", "ns"); !apierrors.IsNotFound(err) {
				t.Errorf("the namespace is left: %v", err)
			}
		})
	}
}
