package explore_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/explore"
)

// definition writes the definition of gadgets with replaced lines, and returns its path.
func definition(t *testing.T, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/gadget/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			t.Fatalf("the definition does not have %q", replace[i])
		}
	}
	path := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// version returns a subject of an operator with another definition. It may do everything.
func (o gadgetOperator) version(definition string) explore.Subject {
	return explore.Subject{Install: []string{definition}, Seeds: []string{"testdata/gadget/sample.yaml"}, Run: o.run}
}

// withV2 adds a version in front of v1 that is stored.
func withV2(schema string) []string {
	return []string{"  versions:\n", "  versions:\n  - {name: v2, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: " + schema + "}}\n", "storage: true\n", "storage: false\n"}
}

func upgradeOf(t *testing.T, from, to explore.Subject) explore.Found {
	t.Helper()
	found, err := explore.FindUpgrade(t, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// An upgrade that changes nothing, or adds optional fields, has no finding.
func TestACorrectUpgradeHasNoFinding(t *testing.T) {
	more := definition(t, "mode: {type", "extra: {type: string, default: none}\n              mode: {type")
	to := gadgetOperator{image: "main:1"}.version(more)
	to.Trials = 24
	found := upgradeOf(t, gadgetOperator{image: "main:1"}.version("testdata/gadget/crd.yaml"), to)
	for _, f := range found.Findings {
		t.Error(f.Report)
	}
	if found.Trials < 8 {
		t.Errorf("%s, want at least 8 trials", found)
	}
}

// What the old version has made is the operator's after the upgrade, too.
func TestWhatTheOldVersionHasMadeIsLeft(t *testing.T) {
	s := gadgetOperator{forgetsToDelete: true}.version("testdata/gadget/crd.yaml")
	s.Replay = "gadgets.example.com default/a: create; upgrade; delete"
	const want = "gadgets.example.com default/a was deleted, and these objects are left:\n    configmaps default/a-0\n    configmaps default/a-1\n"
	if found := upgradeOf(t, s, s); len(found.Findings) != 1 || !strings.Contains(found.Findings[0].Report, want) {
		t.Errorf("%s: %+v, want %s", found, found.Findings, want)
	}
}

// Each mistake of an upgrade is found by the oracle for it.
func TestMistakesOfUpgradesAreFound(t *testing.T) {
	for name, tt := range map[string]struct {
		from, to gadgetOperator
		replace  []string // in the definition
		oracle   explore.Oracle
		trial    string
		report   string // a regular expression
	}{
		"other pods": {
			from: gadgetOperator{image: "main:1"}, to: gadgetOperator{image: "main:2"},
			oracle: explore.KeepsPods, trial: "create; upgrade",
			report: `explore: the operator restarts pods in an upgrade \(oracle keeps-pods\)\.
After these steps
    1\. create gadgets\.example\.com default/a
    2\. install and start the new version of the operator
the upgrade changes the pod template of deployments\.apps default/a, so that its pods are restarted:
(?s:.*)    -   - image: main:1
    \+   - image: main:2
`},
		"objects that are left": {
			to: gadgetOperator{prefix: "new-"}, oracle: explore.Upgrades, trial: "create; upgrade",
			report: `configmaps default/a-0 exists, and 1 difference more
  - expected, as it is after: upgrade; create
  \+ actual
`},
		"a renamed field": {
			replace: []string{"mode: {type", "kind: {type"}, oracle: explore.Upgrades, trial: `set /spec/mode "Fast"; create; upgrade`,
			report: `gadgets\.example\.com default/a does not have the /spec/mode that it had before the upgrade:`},
		"a version that the old definition does not have": {
			replace: withV2("{type: object, x-kubernetes-preserve-unknown-fields: true}"), oracle: explore.Downgrades, trial: "upgrade; downgrade",
			report: `the old version cannot be installed where the other one was: .*status\.storedVersions\[1\]: Invalid value: "v2": `},
		"no served version": {
			replace: []string{"served: true", "served: false"}, oracle: explore.Upgrades, trial: "upgrade",
			report: `gadgets\.example\.com is not served any more: no matches for example\.com/, Resource=gadgets
`},
		"a new required field": {
			replace: []string{"required: [spec]\n        properties:\n", "required: [spec, owner]\n        properties:\n          owner: {type: string}\n"},
			oracle:  explore.Upgrades, trial: "create; upgrade; rewrite",
			report: `a label of gadgets\.example\.com default/a cannot be changed any more
    Gadget\.example\.com "a" is invalid: \[owner: Required value`},
		"a conversion that loses a field": {
			replace: withV2("{type: object, properties: {spec: {type: object, properties: {text: {type: string}}}, status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}"),
			oracle:  explore.Upgrades, trial: "create; upgrade; rewrite",
			report: `gadgets\.example\.com default/a does not have the /spec/count that it had before the upgrade:
      spec:
    -   count: 2
        text: hello
`},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && tt.oracle != explore.KeepsPods {
				t.Skip("-short: exploration is slow, and does the same for each mistake")
			}
			from, to := tt.from.version("testdata/gadget/crd.yaml"), tt.to.version(definition(t, tt.replace...))
			to.MaxFindings, to.Trials = 1, 40
			found := upgradeOf(t, from, to)
			if len(found.Findings) != 1 {
				t.Fatal(found)
			}
			f := found.Findings[0]
			if f.Oracle != tt.oracle || !regexp.MustCompile(tt.report).MatchString(f.Report) {
				t.Errorf("%s:\n%s", f.Oracle, f.Report)
			}
			if want := "gadgets.example.com default/a: " + tt.trial; f.Trial != want {
				t.Errorf("trial:\n got %s\nwant %s", f.Trial, want)
			}
			if tt.oracle != explore.Downgrades { // the others take the same way
				return
			}
			to.Replay = f.Trial
			if again := upgradeOf(t, from, to); len(again.Findings) != 1 || again.Findings[0].Oracle != tt.oracle {
				t.Errorf("the replay: %s, %+v", again, again.Findings)
			}
		})
	}
}

// A user changes a Gadget while the new version starts, which notes that it has seen it, and overwrites the change.
func TestUsersActDuringAnUpgrade(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it explores 300 trials")
	}
	for name, tt := range map[string]struct {
		to    gadgetOperator
		trial string // that shows the mistake; empty: there is none
	}{
		"correct":     {to: gadgetOperator{}},
		"overwriting": {overwriting(), "create; upgrade & remove /spec/count | user-before operator patch gadgets.example.com default/a 1"},
	} {
		t.Run(name, func(t *testing.T) {
			to := tt.to.version("testdata/gadget/crd.yaml")
			to.MaxFindings, to.Trials = 1, 300
			to.Without = []explore.Oracle{explore.Downgrades} // what it notes stays
			found := upgradeOf(t, gadgetOperator{}.version("testdata/gadget/crd.yaml"), to)
			if tt.trial == "" {
				for _, f := range found.Findings {
					t.Error(f.Report)
				}
				return
			}
			if len(found.Findings) != 1 {
				t.Fatal(found)
			}
			if f := found.Findings[0]; f.Oracle != explore.KeepsSpec || f.Trial != "gadgets.example.com default/a: "+tt.trial {
				t.Errorf("%s, trial %s:\n%s", f.Oracle, f.Trial, f.Report)
			}
		})
	}
}
