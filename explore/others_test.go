package explore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// noting writes the text of each Gadget into the ConfigMap shared: at a key of the Gadget, or all at the same.
func noting(key func(gadget string) string) gadgetOperator {
	return gadgetOperator{before: func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (bool, error) {
		text, _, _ := unstructured.NestedString(gadget.Object, "spec", "text")
		name := key(gadget.GetName())
		configMaps := client.Resource(configMapR).Namespace("default")
		_, err := configMaps.Patch(ctx, "shared", types.MergePatchType, []byte(`{"data":{"`+name+`":"`+text+`"}}`), metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			shared := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{name: text}}}
			shared.SetName("shared")
			_, err = configMaps.Create(ctx, shared, metav1.CreateOptions{})
		}
		return false, err
	}}
}

// An object that two custom resources lead to is a mistake if it is for one of them alone, and none if it is for both.
func TestAnObjectOfTwoCustomResourcesIsForBoth(t *testing.T) {
	explored := func(o gadgetOperator) explore.Found {
		s := o.subject()
		s.Roles, s.Without = nil, []explore.Oracle{explore.CleansUp}
		s.Replay = `gadgets.example.com default/a: create; neighbor; set /spec/text "other"`
		return findIn(t, s)
	}
	if found := explored(noting(func(gadget string) string { return gadget })); len(found.Findings) > 0 {
		t.Errorf("a key for each Gadget: %s", found.Findings[0].Report)
	}
	found := explored(noting(func(string) string { return "text" }))
	if len(found.Findings) != 1 || found.Findings[0].Oracle != explore.LeavesOthersAlone {
		t.Fatalf("one key for all: %s: %+v", found, found.Findings)
	}
	const want = `gadgets.example.com default/a and gadgets.example.com default/a-neighbor have the same configmaps default/shared, and it is as gadgets.example.com default/a alone needs it
  - expected, as it is after: create
  + actual
      apiVersion: v1
      data:
    -   text: hello
    +   text: other
`
	if !strings.Contains(found.Findings[0].Report, want) {
		t.Errorf("the report does not contain\n%s\nbut is\n%s", want, found.Findings[0].Report)
	}
}

// What belongs to a custom resource that another one needs stays when that one is deleted, and is made again when it comes late.
func TestWhatBelongsToANeedStays(t *testing.T) {
	s := gadgetOperator{}.subject()
	s.Install, s.Seeds = append(s.Install, "testdata/copier/crd.yaml"), append(s.Seeds, "testdata/copier/sample.yaml")
	s.Replay = "copiers.example.com default/a: withdraw gadgets.example.com default/a; create; provide gadgets.example.com default/a; delete"
	if found := findIn(t, s); len(found.Findings) > 0 || found.Trials == 0 {
		t.Errorf("%s: %+v", found, found.Findings)
	}
}

// An operator cuts long names off, so that two that differ at the end alone lead to the same child.
func TestLongNamesThatAreCutOff(t *testing.T) {
	cut := func(gadget string) string { return gadget[:min(len(gadget), 40)] + "-ledger" }
	s := gadgetOperator{ledger: cut}.subject()
	s.Roles, s.Trials, s.MaxFindings = nil, 200, 1
	for _, o := range explore.Oracles() {
		if o.Oracle != explore.LeavesOthersAlone {
			s.Without = append(s.Without, o.Oracle)
		}
	}
	first := "gadgets.example.com default/a-" + strings.Repeat("x", 61)
	want := fmt.Sprintf("%[1]s and %[2]sy lead to the same configmaps default/a-%[3]s-ledger, which can only have one controller", first, first[:len(first)-1], strings.Repeat("x", 38))
	if found := findIn(t, s); len(found.Findings) != 1 || found.Findings[0].What != want || found.Findings[0].Trial != first+": create; neighbor" {
		t.Errorf("%s: %+v, want %s", found, found.Findings, want)
	}
}

// An operator labels the object of one Gadget because of another one.
func TestANeighborChangesAnObject(t *testing.T) {
	s := gadgetOperator{before: func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (bool, error) {
		if gadget.GetName() == "a" {
			return false, nil
		}
		_, err := client.Resource(configMapR).Namespace("default").Patch(ctx, "a-0", types.MergePatchType, []byte(`{"metadata":{"labels":{"newest":"false"}}}`), metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return false, err
	}}.subject()
	s.Roles = nil
	s.Replay = "gadgets.example.com default/a: create; neighbor"
	found := findIn(t, s)
	const want = "configmaps default/a-0 has /metadata/labels, because of gadgets.example.com default/a-neighbor"
	if len(found.Findings) != 1 || found.Findings[0].Oracle != explore.LeavesOthersAlone || found.Findings[0].What != want {
		t.Errorf("%s: %+v, want %s", found, found.Findings, want)
	}
}

// What somebody else controls stays as it is, and the operator says that it is in the way.
func TestTheNameOfAChildIsTaken(t *testing.T) {
	explored := func(o gadgetOperator) explore.Found {
		s := o.subject()
		s.Roles = nil
		s.Replay = "gadgets.example.com default/a: occupy configmaps default/a-0; create"
		return findIn(t, s)
	}
	if found := explored(gadgetOperator{}); len(found.Findings) > 0 {
		t.Errorf("the correct operator: %s", found.Findings[0].Report)
	}
	for name, tt := range map[string]struct {
		operator gadgetOperator
		oracle   explore.Oracle
		what     string
	}{
		"its text is written into it": {gadgetOperator{takesFromOthers: true}, explore.LeavesOthersAlone,
			"configmaps default/a-0 belongs to somebody else, who is its controller, and the operator writes it: update configmaps default/a-0: 200 (gadget_test.go:"},
		"it is counted": {gadgetOperator{countsForOthers: true}, explore.TruthfulStatus,
			"configmaps default/a-0 belongs to somebody else, and the status of gadgets.example.com default/a is as if the operator had made it; no Event says it either"},
		"all ConfigMaps are deleted": {gadgetOperator{before: func(ctx context.Context, client dynamic.Interface, _ *unstructured.Unstructured) (bool, error) {
			configMaps := client.Resource(configMapR).Namespace("default")
			taken, err := configMaps.Get(ctx, "a-0", metav1.GetOptions{})
			if err != nil || len(taken.GetAnnotations()) == 0 {
				return false, nil
			}
			return true, configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt"})
		}}, explore.LeavesOthersAlone, "configmaps default/a-0 belongs to somebody else, who is its controller, and the operator has deleted it"},
	} {
		t.Run(name, func(t *testing.T) {
			found := explored(tt.operator)
			if len(found.Findings) != 1 || found.Findings[0].Oracle != tt.oracle || !strings.HasPrefix(found.Findings[0].What, tt.what) {
				t.Errorf("%s: %+v, want %s: %s", found, found.Findings, tt.oracle, tt.what)
			}
		})
	}
}

// An object of somebody else may be deleted by somebody else, and then the operator makes its own.
func TestAForeignObjectIsDeletedByOthers(t *testing.T) {
	s := gadgetOperator{}.subject()
	s.Roles, s.Run = nil, nil
	s.Prepare = func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
		return func(ctx context.Context, config *rest.Config) error {
			configMaps := c.Clientset().CoreV1().ConfigMaps("default")
			time.AfterFunc(time.Minute, func() {
				if err := configMaps.Delete(ctx, "a-0", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
					t.Error(err)
				}
			})
			return gadgetOperator{}.run(ctx, config)
		}
	}
	s.Replay = "gadgets.example.com default/a: occupy configmaps default/a-0; create"
	if found := findIn(t, s); len(found.Findings) > 0 {
		t.Error(found.Findings[0].Report)
	}
}

// A label and an annotation of somebody else stay on an object of the operator.
func TestOthersLabelAnObjectOfTheOperator(t *testing.T) {
	explored := func(o gadgetOperator) explore.Found {
		s := o.subject()
		s.Replay = `gadgets.example.com default/a: create; mark configmaps default/a-0; set /spec/text "other"`
		return findIn(t, s)
	}
	if found := explored(gadgetOperator{}); len(found.Findings) > 0 {
		t.Errorf("the correct operator: %s", found.Findings[0].Report)
	}
	found := explored(gadgetOperator{replacesMetadata: true})
	const want = "the operator removes the label and the annotation that somebody else has set on configmaps default/a-0: update configmaps default/a-0: 200 (gadget_test.go:"
	if len(found.Findings) != 1 || found.Findings[0].Oracle != explore.LeavesOthersAlone || !strings.HasPrefix(found.Findings[0].What, want) {
		t.Errorf("%s: %+v, want %s", found, found.Findings, want)
	}
}

// An operator removes its own finalizer, and none of others.
func TestOthersHaveAFinalizer(t *testing.T) {
	explored := func(remove func(finalizers []string) []string) explore.Found {
		s := gadgetOperator{before: func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (bool, error) {
			if gadget.GetDeletionTimestamp() == nil {
				return false, nil
			}
			gadget.SetFinalizers(remove(gadget.GetFinalizers()))
			_, err := client.Resource(gadgets).Namespace("default").Update(ctx, gadget, metav1.UpdateOptions{})
			if apierrors.IsNotFound(err) {
				err = nil
			}
			return true, err
		}}.subject()
		s.Roles = nil
		s.Replay = "gadgets.example.com default/a: create; mark gadgets.example.com default/a; delete"
		return findIn(t, s)
	}
	if found := explored(func(finalizers []string) []string { return finalizers }); len(found.Findings) > 0 {
		t.Errorf("the finalizer stays: %s", found.Findings[0].Report)
	}
	found := explored(func([]string) []string { return nil })
	const want = "gadgets.example.com default/a is gone, although somebody else has set the finalizer explore.example.com/set-by-somebody: remove only your own"
	if len(found.Findings) != 1 || found.Findings[0].Oracle != explore.LeavesOthersAlone || found.Findings[0].What != want {
		t.Errorf("%s: %+v, want %s", found, found.Findings, want)
	}
}

// Two custom resources cannot have the same child, and do not select the Pods of each other.
func TestNeighborsHaveTheirOwnObjects(t *testing.T) {
	explored := func(o gadgetOperator) explore.Found {
		s := o.subject()
		s.Roles, s.Without = nil, []explore.Oracle{explore.Recovers}
		s.Replay = "gadgets.example.com default/a: create; neighbor"
		return findIn(t, s)
	}
	for name, tt := range map[string]struct {
		operator gadgetOperator
		want     string
	}{
		"each has its own":            {gadgetOperator{image: "nginx"}, ""},
		"a Deployment for both":       {gadgetOperator{image: "nginx", sharedProxy: true}, ""},
		"told apart by an expression": {gadgetOperator{image: "nginx", samePods: true, expression: true}, ""},
		"the same Pods":               {gadgetOperator{image: "nginx", samePods: true}, "deployments.apps default/a of gadgets.example.com default/a selects the Pods of deployments.apps default/a-neighbor, too, which belongs to gadgets.example.com default/a-neighbor: its selector is of=gadgets"},
		"a ConfigMap that users name": {gadgetOperator{ledger: func(string) string { return "hello" }}, ""}, // spec.text
		"the same ConfigMap":          {gadgetOperator{ledger: func(string) string { return "ledger" }}, "gadgets.example.com default/a and gadgets.example.com default/a-neighbor lead to the same configmaps default/ledger, which can only have one controller"},
	} {
		t.Run(name, func(t *testing.T) {
			found := explored(tt.operator)
			if tt.want == "" && len(found.Findings) == 0 {
				return
			}
			if len(found.Findings) != 1 || found.Findings[0].Oracle != explore.LeavesOthersAlone || found.Findings[0].What != tt.want {
				t.Errorf("%s: %+v, want %s", found, found.Findings, tt.want)
			}
		})
	}
}

// What the trial itself labels, or gives to somebody else, is no difference.
func TestStepsOfOthersAreNoDifference(t *testing.T) {
	for name, tt := range map[string]struct {
		operator gadgetOperator
		trial    string
	}{
		"a label that is copied":   {gadgetOperator{image: "nginx", copiesLabels: true}, "create; mark gadgets.example.com default/a"},
		"a neighbor of a conflict": {gadgetOperator{}, "occupy configmaps default/a-0; create; neighbor"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tt.operator.subject()
			s.Roles, s.Without = nil, []explore.Oracle{explore.Recovers}
			s.Replay = "gadgets.example.com default/a: " + tt.trial
			if found := findIn(t, s); len(found.Findings) > 0 {
				t.Error(found.Findings[0].Report)
			}
		})
	}
	s := gadgetOperator{}.subject()
	s.Replay = "gadgets.example.com default/a-neighbor: create; neighbor"
	_, err := explore.FindOperator(t, s)
	if err == nil || !strings.Contains(err.Error(), "gadgets.example.com default/a-neighbor has no neighbor: begin the trial with the name of a seed") {
		t.Error(err)
	}
}

// What is tried with others, and with a delete, is among the trials of each exploration.
func TestTrialsWithOthers(t *testing.T) {
	text, err := os.ReadFile("testdata/gadget/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(definition, []byte(strings.Replace(string(text), "              mode:", "              paused: {type: boolean}\n              mode:", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	need := filepath.Join(t.TempDir(), "need.yaml")
	if err := os.WriteFile(need, []byte("{apiVersion: v1, kind: Secret, metadata: {name: given}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := gadgetOperator{}.subject()
	s.Install[0], s.Seeds, s.Trials = definition, append(s.Seeds, need), 80
	_, trials := explore.FindTrials(t, s, 1)
	for _, want := range []string{
		"create; neighbor; delete",
		"neighbor; create; restart",
		"create; set /spec/count 3; neighbor; restart; delete",
		"create; mark gadgets.example.com default/a; delete",
		"create; mark configmaps default/a-1; set /spec/count 3; delete",
		"occupy configmaps default/a-1; create; delete",
		"create; withdraw secrets default/given; delete",
		"create; set /spec/paused true; delete",
		"remove /spec/count; create; restart; delete",
	} {
		if !slices.Contains(trials, "gadgets.example.com default/a: "+want) {
			t.Errorf("not tried: %s", want)
		}
	}
	if slices.ContainsFunc(trials, func(tr string) bool { return strings.Contains(tr, "occupy secrets default/given") }) {
		t.Error("tried: occupy secrets default/given, which the operator does not make")
	}
	if t.Failed() {
		t.Log(strings.Join(trials, "\n"))
	}
}

// An operator that writes the status of its quotas reconciles all of them, and may set a finalizer. It leaves the rest of what somebody else controls.
func TestAnObjectOfAKindThatTheOperatorReconciles(t *testing.T) {
	quotaR := schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
	for label, want := range map[string]string{
		"":   "",
		"of": "resourcequotas default/a belongs to somebody else, who is its controller, and the operator writes it: update resourcequotas default/a: 200 (others_test.go:",
	} {
		s := gadgetOperator{before: func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (bool, error) {
			quotas := client.Resource(quotaR).Namespace(gadget.GetNamespace())
			quota, err := quotas.Get(ctx, gadget.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				quota = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ResourceQuota", "spec": map[string]any{"hard": map[string]any{"pods": "1"}}}}
				quota.SetName(gadget.GetName())
				quota.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gadget", Name: gadget.GetName(), UID: gadget.GetUID()}})
				quota, err = quotas.Create(ctx, quota, metav1.CreateOptions{})
			}
			if err != nil || len(quota.GetFinalizers()) > 0 || gadget.GetDeletionTimestamp() != nil {
				return false, err
			}
			quota.SetFinalizers([]string{gadgetFinalizer})
			if label != "" {
				quota.SetLabels(map[string]string{label: gadget.GetName()})
			}
			if quota, err = quotas.Update(ctx, quota, metav1.UpdateOptions{}); err != nil {
				return false, err
			}
			quota.Object["status"] = map[string]any{"hard": map[string]any{"pods": "1"}}
			_, err = quotas.UpdateStatus(ctx, quota, metav1.UpdateOptions{})
			return false, err
		}}.subject()
		s.Roles = nil
		s.Replay = "gadgets.example.com default/a: occupy resourcequotas default/a; create"
		found := findIn(t, s)
		if got := len(found.Findings); want == "" && got > 0 || want != "" && (got != 1 || !strings.HasPrefix(found.Findings[0].What, want)) {
			t.Errorf("label %q: %s: %+v, want %q", label, found, found.Findings, want)
		}
	}
}
