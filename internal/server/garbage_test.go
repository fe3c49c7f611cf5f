package server

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/store"
)

var (
	definitions = apiextensionsv1.Resource("customresourcedefinitions")
	cronKind    = schema.GroupResource{Group: "example.com", Resource: "crons"} // of crons
)

// TestForkCollectsTheDependentsOfAKindThatIsGone forks the store when an owner and its kind are gone, and its dependent
// is not. The origin may delete that dependent before the fork begins.
func TestForkCollectsTheDependentsOfAKindThatIsGone(t *testing.T) {
	for _, ahead := range []bool{false, true} {
		t.Run(fmt.Sprint("the origin is ahead: ", ahead), func(t *testing.T) {
			var origin, fork *Cluster
			var forked *store.Store
			begin := func() {
				var err error
				if fork, err = origin.Fork(forked, nil); err != nil {
					t.Error(err)
				}
			}
			origin = started(t, Options{Controllers: []string{string(controller.GarbageCollector)}, Functions: beforeCommit(func(w *admission.Write) error {
				if forked != nil || w.GetOperation() != upstream.Delete || w.GetName() != "dependent" {
					return nil
				}
				var err error
				if forked, err = origin.Store.Fork(); err != nil {
					t.Error(err)
				} else if !ahead {
					begin()
				}
				return nil
			})})
			create(t, origin, definitions, "", crons)
			create(t, origin, cronKind, "default", &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Cron", "metadata": map[string]any{"namespace": "default", "name": "owner"},
			}})
			owner, err := origin.Kinds.Object(cronKind, "default", "owner")
			if err != nil {
				t.Fatal(err)
			}
			dependent := configMap("dependent")
			dependent.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Cron", Name: "owner", UID: owner.(metav1.Object).GetUID()}}
			create(t, origin, corev1.Resource("configmaps"), "default", dependent)
			if err := origin.Kinds.Delete(definitions, "", "crons.example.com"); err != nil {
				t.Fatal(err)
			}
			if ahead {
				begin()
			}
			defer forked.Close()
			defer fork.Close()
			if fork.Registry().Resource("example.com", "crons") != nil {
				t.Fatal("the fork serves the kind")
			}
			if slices.Contains(names(t, fork, "configmaps", "default"), "dependent") {
				t.Error("the fork keeps the dependent")
			}
		})
	}
}
