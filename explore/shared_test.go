package explore_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
)

// An object that was there before the custom resource may stay when that is deleted, also if the operator has changed it. One that the
// operator has made may not.
func TestWhatWasThereBeforeMayStay(t *testing.T) {
	for name, tc := range map[string]struct {
		makes bool
		want  int
	}{"there before": {}, "made by the operator": {makes: true, want: 1}} {
		t.Run(name, func(t *testing.T) {
			found, err := explore.FindOperator(t, explore.Subject{
				Install: []string{"testdata/copier/crd.yaml", "testdata/copier/shared.yaml"},
				Seeds:   []string{"testdata/copier/sample.yaml"},
				Replay:  "copiers.example.com default/a: create; delete",
				Run: func(ctx context.Context, config *rest.Config) error {
					copiers := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "copiers"})
					w, err := copiers.Namespace("default").Watch(ctx, metav1.ListOptions{})
					if err != nil {
						return err
					}
					context.AfterFunc(ctx, w.Stop)
					configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
					for e := range w.ResultChan() {
						if e.Type != watch.Added {
							continue
						}
						if tc.makes {
							_, err = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "made"}}, metav1.CreateOptions{})
						} else {
							_, err = configMaps.Patch(ctx, "shared", types.MergePatchType, []byte(`{"metadata":{"labels":{"used":"true"}}}`), metav1.PatchOptions{})
						}
						if err != nil && ctx.Err() == nil {
							return err
						}
					}
					return nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Findings) != tc.want || tc.want == 1 && found.Findings[0].Oracle != explore.CleansUp {
				t.Errorf("found %+v", found.Findings)
			}
		})
	}
}
