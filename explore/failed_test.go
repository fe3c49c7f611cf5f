package explore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/fakecluster/fakecluster/explore"
)

// An operator leaves its ConfigMaps as they are when the text makes no sense. That is right if the status says so.
func TestWhatCannotBeHadLeavesWhatThereWas(t *testing.T) {
	text, err := os.ReadFile("testdata/gadget/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := filepath.Join(t.TempDir(), "crd.yaml")
	changed := strings.Replace(string(text), "              made:", "              message: {type: string}\n              made:", 1)
	changed = strings.Replace(changed, "              mode:", "              paused: {type: boolean}\n              mode:", 1)
	if err := os.WriteFile(definition, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	explored := func(message, change string) explore.Found {
		s := gadgetOperator{before: func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (bool, error) {
			if paused, _, _ := unstructured.NestedBool(gadget.Object, "spec", "paused"); paused {
				return true, nil
			}
			if text, _, _ := unstructured.NestedString(gadget.Object, "spec", "text"); text != "bad" {
				return false, nil
			}
			status := map[string]any{"observedGeneration": gadget.GetGeneration(), "message": message}
			if former, _, _ := unstructured.NestedMap(gadget.Object, "status"); former["message"] == message {
				return true, nil
			}
			gadget.Object["status"] = status
			_, err := client.Resource(gadgets).Namespace("default").UpdateStatus(ctx, gadget, metav1.UpdateOptions{})
			return true, err
		}}.subject()
		s.Install[0], s.Roles, s.Without = definition, nil, []explore.Oracle{explore.TruthfulStatus}
		s.Replay = "gadgets.example.com default/a: create; " + change
		return findIn(t, s)
	}
	const bad = `set /spec/text "bad"`
	if found := explored("the text is invalid", bad); len(found.Findings) > 0 {
		t.Error(found.Findings[0].Report)
	}
	if found := explored("", "set /spec/paused true"); len(found.Findings) > 0 { // it was told to do nothing
		t.Error(found.Findings[0].Report)
	}
	found := explored("done", bad)
	if len(found.Findings) != 1 || found.Findings[0].What != "configmaps default/a-0 exists, and 1 difference more" {
		t.Errorf("%s: %+v", found, found.Findings)
	}
}
