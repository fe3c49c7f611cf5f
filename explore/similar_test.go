package explore

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
)

// comparedAfter returns a trial and the difference that it shows after its last step.
func comparedAfter(t *testing.T, steps, key string) (trial, problem) {
	t.Helper()
	parsed, err := generate.Parse(steps)
	if err != nil {
		t.Fatal(err)
	}
	return trial{seed: &seed{name: "gadgets.example.com default/a"}, steps: parsed}, problem{oracle: PathIndependent, key: key, what: "what", step: len(parsed) - 1, compared: true}
}

func TestSimilarDifferences(t *testing.T) {
	for name, tt := range map[string]struct {
		steps, key string
		like       string // the same difference; empty: none is like it
		likeKey    string
		want       bool
	}{
		"fields of a template": {`create; set /spec/template/spec/hostPID true`, "deployments.apps/spec/template/spec/hostPID",
			`create; remove /spec/template/spec/containers/0/tty`, "deployments.apps/spec/template/spec/containers/*/tty", true},
		"two templates": {`create; set /spec/web/template/spec/hostPID true`, "deployments.apps/spec/template/spec/hostPID",
			`create; set /spec/db/template/spec/hostPID true`, "deployments.apps/spec/template/spec/hostPID", false},
		"two kinds": {`create; set /spec/template/spec/hostPID true`, "deployments.apps/spec/template/spec/hostPID",
			`create; set /spec/template/spec/hostPID true`, "jobs.batch/spec/template/spec/hostPID", false},
		"fields with other names": {`create; set /spec/memory "1Gi"`, "deployments.apps/spec/template/spec/containers/*/resources/requests/memory",
			`create; set /spec/image "a"`, "deployments.apps/spec/template/spec/containers/*/image", false},
		"Pods": {`create; set /spec/image "a"`, "pods/spec/containers/*/image", `create; set /spec/labels {"a":"b"}`, "pods/metadata/labels/a", true},
		"changes of somebody else": {`create; edit-owned configmaps default/a /data/a "x"`, "configmaps/data/a",
			`create; edit-owned configmaps default/a /metadata/labels/b "x"`, "configmaps/metadata/labels/b", true},
		"what is lost": {`create; delete-owned configmaps default/a`, "configmaps missing true",
			`create; delete-owned configmaps default/a`, "configmaps missing true", false},
	} {
		t.Run(name, func(t *testing.T) {
			tr, p := comparedAfter(t, tt.steps, tt.key)
			other, q := comparedAfter(t, tt.like, tt.likeKey)
			if got := similarity(tr, p) != "" && similarity(tr, p) == similarity(other, q); got != tt.want {
				t.Errorf("similar: %t; %q and %q", got, similarity(tr, p), similarity(other, q))
			}
		})
	}
}

// Three similar differences are findings, and the others are listed.
func TestOnlyThreeSimilarDifferencesAreFindings(t *testing.T) {
	e := &operatorExploration{results: results{similar: map[string]int{}, keys: map[string]bool{}}}
	var listed []bool
	for _, field := range []string{"hostPID", "hostIPC", "hostNetwork", "hostUsers"} {
		tr, p := comparedAfter(t, "create; set /spec/template/spec/"+field+" true", "deployments.apps/spec/template/spec/"+field)
		similar := e.isSimilar(tr, p)
		listed = append(listed, similar)
		if !similar {
			e.noteSimilar(tr, p)
		}
	}
	if !slices.Equal(listed, []bool{false, false, false, true}) {
		t.Errorf("listed: %t", listed)
	}
	want := "these differences are like 3 findings each, and were not looked at further: 1\n" +
		"    path-independent: what; the trial was 'gadgets.example.com default/a: create; set /spec/template/spec/hostUsers true'"
	if diff := cmp.Diff(want, e.results.found.logSimilar()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if tr, p := comparedAfter(t, "create; set /spec/template/spec/hostUsers true", "deployments.apps/spec/template/spec/hostUsers"); !e.results.keys[p.id()] {
		t.Errorf("%s is not known", tr)
	}
	tr, p := comparedAfter(t, "create; set /spec/other/spec/hostUsers true", "deployments.apps/spec/template/spec/hostUsers")
	if e.isSimilar(tr, p) {
		t.Error("a difference of another kind is taken for a similar one")
	}
}

// Generated names in refused requests do not make several findings of one.
func TestTheKindOfARequest(t *testing.T) {
	for line, want := range map[string]string{
		`apply statefulsets.apps default/inference-72dea0b5: 422 StatefulSet.apps "inference-72dea0b5" is invalid`: "apply statefulsets.apps",
		`create pods in default: 403 pods "a" is forbidden`:                                                        "create pods",
		`update gadgets.example.com/status default/a: 422 Gadget.example.com "a" is invalid`:                       "update gadgets.example.com/status",
		"": "",
	} {
		if got := kindOfRequest(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
