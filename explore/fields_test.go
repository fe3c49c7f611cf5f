package explore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/fakecluster/fakecluster/explore"
)

// A field that the operator ignores is a finding if its name is one of pods, and the operator makes some. Other fields are checked if the oracle is
// switched on.
func TestAFieldWithoutEffectIsAFinding(t *testing.T) {
	text, err := os.ReadFile("testdata/gadget/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := filepath.Join(t.TempDir(), "crd.yaml")
	changed := strings.Replace(string(text), "              mode:", "              serviceAccountName: {type: string}\n              color: {type: string}\n              mode:", 1)
	if err := os.WriteFile(definition, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	const account = "no trial that sets /spec/serviceAccountName has an effect: neither another object nor the status differs"
	for name, tt := range map[string]struct {
		image  string
		with   []explore.Oracle
		ignore []string
		want   []string
	}{
		"with pods":                 {image: "nginx", want: []string{account}},
		"without pods":              {},
		"the effect may be ignored": {image: "nginx", ignore: []string{"deployments.apps /spec/template"}},
		"every field": {with: []explore.Oracle{explore.FieldsMatter}, want: []string{
			"no trial that sets /spec/color has an effect: neither another object nor the status differs", account}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "with pods" {
				t.Skip("-short: exploration is slow, and does the same for each case")
			}
			s := gadgetOperator{image: tt.image}.subject()
			s.Install[0], s.Roles, s.With, s.Ignore, s.Trials = definition, nil, tt.with, tt.ignore, 80
			s.Without = []explore.Oracle{explore.Recovers, explore.LeavesOthersAlone, explore.TruthfulStatus} // it does not watch its Deployment, and takes any
			found := findIn(t, s)
			var got []string
			for _, f := range found.Findings {
				got = append(got, f.What)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			replayFields(t, s, found.Findings)
		})
	}
}

// replayFields checks that the replay of each finding shows it again.
func replayFields(t *testing.T, s explore.Subject, findings []explore.Finding) {
	t.Helper()
	for _, f := range findings {
		s.Replay = f.Trial
		if again := findIn(t, s); len(again.Findings) != 1 || again.Findings[0].What != f.What || f.Oracle != explore.FieldsMatter {
			t.Errorf("the replay of %s: %s, %+v", f.Trial, again, again.Findings)
		}
	}
}

// Two numbers of replicas that lead to the same are a finding.
func TestNumbersOfReplicasDiffer(t *testing.T) {
	text, err := os.ReadFile("testdata/gadget/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := filepath.Join(t.TempDir(), "crd.yaml")
	changed := strings.Replace(string(text), "              mode:", "              replicas: {type: integer, minimum: 0, maximum: 4, default: 2}\n              mode:", 1)
	changed = strings.Replace(changed, "              made:", "              message: {type: string}\n              made:", 1)
	if err := os.WriteFile(definition, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		most, least int64
		rejects     bool // numbers that are too large or too small, in the status
		want        []string
	}{
		"each counts":        {most: 5},
		"zero is two":        {most: 5, least: 2, want: []string{"/spec/replicas 0 leads to 2 at deployments.apps default/a/spec/replicas, where 2 comes as it is, and the status does not say that"}},
		"three are the most": {most: 3, want: []string{"/spec/replicas 4 leads to 3 at deployments.apps default/a/spec/replicas, where 0 comes as it is, and the status does not say that"}},
		"the status says it": {most: 3, least: 2, rejects: true},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "three are the most" {
				t.Skip("-short: exploration is slow, and does the same for each case")
			}
			operator := gadgetOperator{image: "nginx", replicas: func(wanted int64) int64 { return max(tt.least, min(tt.most, wanted)) }}
			if tt.rejects {
				operator.before = func(ctx context.Context, client dynamic.Interface, gadget *unstructured.Unstructured) (bool, error) {
					n, _, _ := unstructured.NestedInt64(gadget.Object, "spec", "replicas")
					if n >= tt.least && n <= tt.most {
						return false, nil
					}
					gadget.Object["status"] = map[string]any{"observedGeneration": gadget.GetGeneration(), "message": "the replicas are invalid"}
					_, err := client.Resource(gadgets).Namespace("default").UpdateStatus(ctx, gadget, metav1.UpdateOptions{})
					return true, err
				}
			}
			s := operator.subject()
			s.Install[0], s.Roles, s.Trials = definition, nil, 80
			for _, o := range explore.Oracles() {
				if o.Oracle != explore.FieldsMatter {
					s.Without = append(s.Without, o.Oracle)
				}
			}
			var got []string
			found := findIn(t, s)
			for _, f := range found.Findings {
				got = append(got, f.What)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			replayFields(t, s, found.Findings)
		})
	}
}

// A custom resource that is paused stays as it is, with the generation in its status. An operator that follows its changes ignores the field.
func TestAPauseIsRespected(t *testing.T) {
	text, err := os.ReadFile("testdata/gadget/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := filepath.Join(t.TempDir(), "crd.yaml")
	changed := strings.Replace(string(text), "              mode:", "              paused: {type: boolean}\n              mode:", 1)
	if err := os.WriteFile(definition, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	pauses := func(_ context.Context, _ dynamic.Interface, gadget *unstructured.Unstructured) (bool, error) {
		paused, _, _ := unstructured.NestedBool(gadget.Object, "spec", "paused")
		return paused, nil
	}
	onlyCounts := func(_ context.Context, _ dynamic.Interface, gadget *unstructured.Unstructured) (bool, error) {
		if paused, _, _ := unstructured.NestedBool(gadget.Object, "spec", "paused"); paused {
			gadget.Object["spec"] = map[string]any{"text": "hello", "count": gadget.Object["spec"].(map[string]any)["count"]}
		}
		return false, nil
	}
	for name, tt := range map[string]struct {
		operator gadgetOperator
		trials   int
		want     []string
	}{
		"it does":                {gadgetOperator{before: pauses}, 80, nil},
		"it follows one field":   {gadgetOperator{before: onlyCounts}, 80, nil},
		"it follows each change": {gadgetOperator{}, 80, []string{"gadgets.example.com default/a is paused, and the operator follows this change as all others: configmaps default/a-1 does not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && tt.want == nil {
				t.Skip("-short: exploration is slow, and does the same for the mistake")
			}
			s := tt.operator.subject()
			s.Install[0], s.Trials = definition, tt.trials
			found := findIn(t, s)
			var got []string
			for _, f := range found.Findings {
				got = append(got, f.What)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			replayFields(t, s, found.Findings)
		})
	}
}
