package explore_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fakecluster/fakecluster/explore"
)

const gadgetFinalizer = "example.com/gadget"

// finalized returns an operator that keeps a ConfigMap without owner, which its finalizer deletes.
func finalized(late, needsIt bool) gadgetOperator {
	return gadgetOperator{before: func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (skip bool, err error) {
		configMaps, objects := client.Resource(configMapR).Namespace("default"), client.Resource(gadgets).Namespace("default")
		ledger := gadget.GetName() + "-ledger"
		has := slices.Contains(gadget.GetFinalizers(), gadgetFinalizer)
		if gadget.GetDeletionTimestamp() != nil {
			if !has {
				return true, nil
			}
			err := configMaps.Delete(ctx, ledger, metav1.DeleteOptions{})
			if err != nil && (needsIt || !apierrors.IsNotFound(err)) {
				return true, err
			}
			gadget.SetFinalizers(nil)
			_, err = objects.Update(ctx, gadget, metav1.UpdateOptions{})
			return true, err
		}
		keep := func() error {
			_, err := configMaps.Create(ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": ledger}}}, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		}
		if has {
			return false, keep()
		}
		if late {
			if err := keep(); err != nil {
				return true, err
			}
		}
		gadget.SetFinalizers([]string{gadgetFinalizer})
		written, err := objects.Update(ctx, gadget, metav1.UpdateOptions{})
		if err != nil {
			return true, err
		}
		gadget.SetResourceVersion(written.GetResourceVersion())
		if !late {
			return false, keep()
		}
		return false, nil
	}}
}

// overwriting is an operator that notes in the status that it has seen a Gadget, and sends what it knows of the spec, too.
func overwriting() gadgetOperator {
	return gadgetOperator{before: func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (skip bool, err error) {
		if gadget.GetAnnotations()["example.com/seen"] != "" {
			return false, nil
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"example.com/seen": "yes"}}, "spec": gadget.Object["spec"]})
		if err != nil {
			return true, err
		}
		_, err = client.Resource(gadgets).Namespace("default").Patch(ctx, gadget.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		return true, err
	}}
}

// A user deletes or changes an object right before a write of the operator. Each mistake is found, and its trial shows it again.
func TestUsersActWhileTheOperatorWorks(t *testing.T) {
	for name, tt := range map[string]struct {
		operator gadgetOperator
		oracle   explore.Oracle // empty: it is correct
		trial    string         // that shows it
		report   string
	}{
		"correct": {operator: finalized(false, false)},
		"the finalizer comes late": {finalized(true, false), explore.CleansUp, "create & delete | user-before operator create configmaps default/ 1",
			"where the user takes the steps (at once) right before the create of configmaps default/ by operator"},
		"the finalizer needs the ledger": {finalized(false, true), explore.CleansUp,
			"create & delete | user-before operator create configmaps default/ 1; crash-before operator create configmaps default/ 1",
			`is still there with the finalizers ["example.com/gadget"]`},
		"the spec is overwritten": {overwriting(), explore.KeepsSpec, "create & remove /spec/count | user-before operator patch gadgets.example.com default/a 1", "/spec/count"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tt.operator.subject()
			s.Roles, s.MaxFindings, s.Trials = nil, 1, 150
			s.Without = []explore.Oracle{explore.LeavesOthersAlone, explore.TruthfulStatus} // the ledger has no owner, and one that was there is as good
			found := findIn(t, s)
			if tt.oracle == "" {
				for _, f := range found.Findings {
					t.Error(f.Report)
				}
				return
			}
			if len(found.Findings) != 1 {
				t.Fatal(found)
			}
			if f := found.Findings[0]; f.Oracle != tt.oracle {
				t.Errorf("oracle %s, want %s:\n%s", f.Oracle, tt.oracle, f.Report)
			}
			s.Replay = "gadgets.example.com default/a: " + tt.trial
			if again := findIn(t, s); len(again.Findings) != 1 || again.Findings[0].Oracle != tt.oracle || !strings.Contains(again.Findings[0].Report, tt.report) {
				t.Errorf("the replay: %s, %+v", again, again.Findings)
			}
		})
	}
}
