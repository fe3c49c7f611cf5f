package explore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

func findIn(t *testing.T, s explore.Subject) explore.Found {
	t.Helper()
	found, err := explore.FindOperator(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A correct operator has no finding, whatever its users do.
func TestACorrectOperatorHasNoFinding(t *testing.T) {
	s := gadgetOperator{}.subject()
	s.Trials = 100
	found := findIn(t, s)
	for _, f := range found.Findings {
		t.Error(f.Report)
	}
	if found.Trials < 40 {
		t.Errorf("%s, want at least 40 trials", found)
	}
}

// An operator that is started again may write because somebody else has changed an object meanwhile.
func TestAStartAfterAChange(t *testing.T) {
	s := gadgetOperator{}.subject()
	s.Roles, s.Run = nil, nil
	s.Prepare = func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
		starts := 0
		return func(ctx context.Context, config *rest.Config) error {
			if starts++; starts == 2 {
				_, err := c.Clientset().CoreV1().ConfigMaps("default").Patch(ctx, "a-0", types.MergePatchType, []byte(`{"data":{"text":"other"}}`), metav1.PatchOptions{})
				if err != nil {
					return err
				}
			}
			return gadgetOperator{}.run(ctx, config)
		}
	}
	s.Replay = "gadgets.example.com default/a: create; restart"
	if found := findIn(t, s); len(found.Findings) > 0 {
		t.Error(found.Findings[0].Report)
	}
}

// What a fake that Prepare has made reports is the error of the trial.
func TestAFakeFailsTheTrial(t *testing.T) {
	s := gadgetOperator{}.subject()
	run := s.Run
	s.Run = nil
	s.Prepare = func(t testing.TB, _ *fakecluster.Cluster) func(context.Context, *rest.Config) error {
		return func(ctx context.Context, config *rest.Config) error {
			t.Errorf("the cloud has no region %q", "moon")
			return run(ctx, config)
		}
	}
	if _, err := explore.FindOperator(t, s); err == nil || !strings.Contains(err.Error(), `the trial has failed: the cloud has no region "moon"`) {
		t.Errorf("%v", err)
	}
}

// The same seed gives the same findings and the same trials, also if trials run at the same time. Which requests there are that a fault
// can strike depends on the order in which goroutines of the operator run, so trials with faults are left out.
func TestTheSameSeedGivesTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it explores three times")
	}
	s := gadgetOperator{forgetsToShrink: true, forgetsToDelete: true}.subject()
	s.Trials = 80
	explored := func(parallel int) (steps, findings []string) {
		found, trials := explore.FindTrials(t, s, parallel)
		if len(trials) < s.Trials || len(trials) != found.Trials+found.Rejected {
			t.Errorf("%d at the same time: %d trials are noted: %s", parallel, len(trials), found)
		}
		for _, f := range found.Findings {
			findings = append(findings, string(f.Oracle)+" "+f.Trial+": "+f.What)
		}
		return slices.DeleteFunc(trials, func(tr string) bool { return strings.Contains(tr, " | ") }), findings
	}
	steps, findings := explored(1)
	if len(findings) < 2 {
		t.Errorf("the findings are %q", findings)
	}
	for range 2 {
		same, again := explored(2)
		n := min(len(steps), len(same)) // the number of those with faults is not always the same
		if diff := cmp.Diff(steps[:n], same[:n]); diff != "" || n < 20 {
			t.Errorf("%d trials (-one after the other +two at the same time):\n%s", n, diff)
		}
		if diff := cmp.Diff(findings, again); diff != "" {
			t.Errorf("findings (-one after the other +two at the same time):\n%s", diff)
		}
	}
}

// Each mistake is found by the oracle for it, with the shortest steps, and found again by the trial of the report.
func TestMistakesOfOperatorsAreFound(t *testing.T) {
	for name, tt := range map[string]struct {
		operator gadgetOperator
		oracle   explore.Oracle
		trial    string
		report   string // a regular expression
	}{
		"leftovers of a larger count": {
			gadgetOperator{forgetsToShrink: true}, explore.PathIndependent, "create; remove /spec/count",
			`explore: the operator depends on the past \(oracle path-independent\)\.
After these steps
    1\. create gadgets\.example\.com default/a
    2\. remove /spec/count
configmaps default/a-1 exists
  - expected, as it is after: remove /spec/count; create
  \+ actual
    \+ apiVersion: v1
(?s:.*)The operator's last writes:
    create configmaps in default: 201 \(gadget_test\.go:\d+\), 2 times
(?s:.*)To run this trial alone:
    go test -run '\^TestMistakesOfOperatorsAreFound/leftovers_of_a_larger_count\$' -explore\.replay='gadgets\.example\.com default/a: create; remove /spec/count'
If this is on purpose, see docs/explore-operator\.md#path-independent`},
		"no owner": {
			gadgetOperator{forgetsToDelete: true}, explore.CleansUp, "create; delete",
			`gadgets\.example\.com default/a was deleted, and these objects are left:
    configmaps default/a-0
    configmaps default/a-1
`},
		"endless writes": {
			gadgetOperator{reportsAlways: true}, explore.Converges, "create",
			`the operator still writes after 15m0s; the last writes:
    operator update status gadgets\.example\.com default/a: status\.made: \d+ → \d+
`},
		"a missing right": {
			gadgetOperator{readsPods: true}, explore.Permitted, "create",
			`pods is forbidden: User "system:serviceaccount:gadget-system:gadgets" cannot list resource "pods" in API group "" in the namespace "default"`},
		"an error ends it": {
			gadgetOperator{endsAtZero: true}, explore.NoPanic, "create; set /spec/count 0", `the operator has returned an error: broken`},
		"a panic": {
			gadgetOperator{panicsWithoutAll: true}, explore.NoPanic, `create; set /spec/mode "Safe"`, `the operator has panicked: no mode \(gadget_test\.go:\d+\)`},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && tt.oracle != explore.PathIndependent {
				t.Skip("-short: exploration is slow, and does the same for each mistake")
			}
			s := tt.operator.subject()
			s.MaxFindings, s.Trials = 1, 100
			found := findIn(t, s)
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
			s.Replay = f.Trial
			if again := findIn(t, s); len(again.Findings) != 1 || again.Findings[0].Oracle != tt.oracle {
				t.Errorf("the replay: %s, %+v", again, again.Findings)
			}
			s = gadgetOperator{}.subject()
			s.Replay = f.Trial
			if correct := findIn(t, s); len(correct.Findings) > 0 {
				t.Errorf("the correct operator: %s", correct.Findings[0].Report)
			}
		})
	}
}

// An oracle that is switched off has no findings, and fields that are ignored do not differ.
func TestOraclesAreSwitched(t *testing.T) {
	s := gadgetOperator{forgetsToShrink: true}.subject()
	s.Trials = 40
	s.Without = []explore.Oracle{explore.PathIndependent, explore.Recovers}
	if found := findIn(t, s); len(found.Findings) > 0 {
		t.Error(found.Findings[0].Report)
	}
	s.Without, s.Ignore = nil, []string{"configmaps"}
	if found := findIn(t, s); len(found.Findings) > 0 {
		t.Error(found.Findings[0].Report)
	}
}

// The trials begin in a cluster with the objects of a dump.
func TestADumpIsTheBase(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "dump.yaml")
	text := `# of production
---
---
{apiVersion: v1, kind: List, items: [
		{apiVersion: v1, kind: ConfigMap, metadata: {name: keep, namespace: default, uid: a, resourceVersion: "7"}},
		{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: nowhere}}]}`
	if err := os.WriteFile(dump, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := gadgetOperator{deletesOthers: true}.subject()
	s.Dump, s.Trials, s.MaxFindings = []string{dump}, 20, 1
	found := findIn(t, s)
	if len(found.Findings) != 1 || found.Findings[0].What != "the operator has deleted configmaps default/keep, which it has not made" {
		t.Errorf("%+v", found.Findings)
	}
	if diff := cmp.Diff([]string{`ConfigMap nowhere/lost: namespaces "nowhere" not found`}, found.Left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	s = gadgetOperator{}.subject()
	s.Dump, s.Trials = []string{dump}, 20
	if found := findIn(t, s); len(found.Findings) > 0 || !strings.HasSuffix(found.String(), `; 1 object of the dump left out: ConfigMap nowhere/lost: namespaces "nowhere" not found`) {
		t.Errorf("%s\n%+v", found, found.Findings)
	}
}

func TestRulesThatAreNotNeeded(t *testing.T) {
	s := gadgetOperator{}.subject()
	s.Trials, s.With = 60, []explore.Oracle{explore.NeedsItsRules}
	if found := findIn(t, s); len(found.Findings) > 0 {
		t.Error(found.Findings[0].Report)
	}
	folder := t.TempDir()
	role, err := os.ReadFile("testdata/gadget/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	more := strings.Replace(string(role), "create, update, delete]}", "create, update, delete]}\n- {apiGroups: [apps], resources: [deployments], verbs: [get]}", 1)
	if err := os.WriteFile(folder+"/rbac.yaml", []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Install, s.Roles = []string{"testdata/gadget/crd.yaml", folder}, []string{folder}
	found := findIn(t, s)
	if len(found.Findings) != 1 || !strings.HasSuffix(found.Findings[0].Report, "never used:\n\t- {apiGroups: [\"apps\"], resources: [\"deployments\"], verbs: [\"get\"]}\n") {
		t.Errorf("%s: %+v", found, found.Findings)
	}
	s.With = nil
	if found := findIn(t, s); len(found.Findings) > 0 {
		t.Errorf("off by default: %+v", found.Findings)
	}
}

func TestInvariants(t *testing.T) {
	s := gadgetOperator{}.subject()
	s.Invariants = []explore.Invariant{
		explore.Always("texts are short", "configmaps", fakecluster.CEL("!has(object.data.text) || object.data.text.size() < 10")),
		explore.Never("nobody is called hello", "configmaps", fakecluster.When(func(c *corev1.ConfigMap) bool { return c.Data["mode"] == "Safe" })),
		explore.Eventually("all are counted", "gadgets.example.com", fakecluster.CEL("object.status.made == object.spec.count")),
	}
	s.Trials = 60
	found := findIn(t, s)
	var got []string
	for _, f := range found.Findings {
		got = append(got, string(f.Oracle)+" "+f.What+" | "+strings.TrimPrefix(f.Trial, "gadgets.example.com default/a: "))
	}
	want := []string{
		`holds nobody is called hello: configmaps default/a-0 breaks the invariant | set /spec/mode "Safe"; create`,
		`holds texts are short: configmaps default/a-0 breaks the invariant | set /spec/text "xxxxxxxxxxxx"; create`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A mistake in the subject ends the exploration at once, with what to write instead.
func TestMistakesInTheSubject(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(s *explore.Subject)
		want   string // a regular expression
	}{
		"no Run": {func(s *explore.Subject) { s.Run = nil }, `^Subject\.Run is nil: it has to run the operator, such as func\(ctx`},
		"nothing is installed": {func(s *explore.Subject) { s.Install = nil },
			`^Subject\.Install is empty: give the folder with the operator's definitions, such as config/crd, or set Subject\.Resources, such as jobs\.batch$`},
		"no such folder":    {func(s *explore.Subject) { s.Install = []string{"testdata/none"} }, `^manifest path: .*testdata/none: no such file or directory$`},
		"no definitions":    {func(s *explore.Subject) { s.Install = []string{"testdata/gadget/rbac.yaml"} }, `^there is no CustomResourceDefinition in Subject\.Install: `},
		"an unknown oracle": {func(s *explore.Subject) { s.Without = []explore.Oracle{"truth"} }, `^Subject: unknown oracle "truth"; explore\.Oracles\(\) lists them$`},
		"a short time": {func(s *explore.Subject) { s.RealTime = time.Millisecond },
			`^Subject\.RealTime is 1ms: it must be at least 100ms, because the cluster cannot be seen to be quiet sooner$`},
		"no seed": {func(s *explore.Subject) { s.Seeds = []string{"testdata/gadget/rbac.yaml"} },
			`^there is no object of gadgets\.example\.com in Subject\.Seeds \(testdata/gadget/rbac\.yaml\)$`},
		"no service account": {func(s *explore.Subject) { s.User = "default/other" },
			`^the operator's ServiceAccount default/other is in no manifest: add its file to Subject\.Install, or set Subject\.User$`},
		"no binding": {func(s *explore.Subject) {
			s.Install, s.Roles = []string{"testdata/gadget/crd.yaml"}, []string{"testdata/gadget/crd.yaml"}
		}, `^no binding in .* names a ServiceAccount: add the binding of the operator's role to Subject\.Roles$`},
		"a trial of another seed": {func(s *explore.Subject) { s.Replay = "websites home: create" },
			`^the trial to replay: the trial "websites home: create" does not begin with the name of a seed; the seeds are gadgets\.example\.com default/a$`},
		"a trial that is rejected": {func(s *explore.Subject) {
			s.Replay = `gadgets.example.com default/a: create; set /spec/text "explored"`
		},
			`^the trial cannot be replayed: set /spec/text "explored": Gadget\.example\.com "a" is invalid: spec: Invalid value: this text is taken$`},
		"it does not start": {func(s *explore.Subject) {
			s.Run = func(context.Context, *rest.Config) error { return errors.New("no license") }
		}, `^the operator does not start: the operator has returned an error: no license$`},
		"it does not use the config": {func(s *explore.Subject) {
			s.Run = func(ctx context.Context, _ *rest.Config) error { <-ctx.Done(); return nil }
		}, `^the operator has not sent a request: Subject\.Run has to make its clients with the config that it gets, and to run until ctx ends$`},
		"it is never quiet": {func(s *explore.Subject) {
			s.Run = func(ctx context.Context, config *rest.Config) error {
				configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
				for i := 0; ctx.Err() == nil; i++ {
					_, _ = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
					}
				}
				return nil
			}
		}, `(?s)^the operator is not quiet although there is nothing to do: the operator still writes after 2m0s; the last writes:\noperator create configmaps default/a-.*\nWrite only what has changed, or set Subject\.Without: `},
	} {
		t.Run(name, func(t *testing.T) {
			s := gadgetOperator{}.subject()
			tt.change(&s)
			found, err := explore.FindOperator(t, s)
			if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
				t.Errorf("%s\ngot  %v\nwant %s", found, err, tt.want)
			}
		})
	}
}

// What a change leaves behind is not what a restart before it has broken.
func TestADifferenceWithoutFaultIsNotOneOfRecovery(t *testing.T) {
	s := gadgetOperator{forgetsToShrink: true}.subject()
	s.Replay = "gadgets.example.com default/a: create; restart; remove /spec/count"
	found, err := explore.FindOperator(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Findings) != 1 || found.Findings[0].Oracle != explore.PathIndependent || found.Findings[0].Trial != "gadgets.example.com default/a: create; remove /spec/count" {
		t.Errorf("%s: %+v", found, found.Findings)
	}
}

// An operator that creates an object whenever it starts is not stuck. One that tries it again and again is.
func TestARefusedCreateIsStuckOnlyIfItGoesOn(t *testing.T) {
	for again, want := range map[bool]int{false: 0, true: 1} {
		s := gadgetOperator{}.subject()
		s.Roles = nil
		s.Replay = "gadgets.example.com default/a: create; restart; restart; restart"
		run := s.Run
		s.Run = func(ctx context.Context, config *rest.Config) error {
			create := func() {
				_, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}, metav1.CreateOptions{})
				if err != nil && !apierrors.IsAlreadyExists(err) {
					t.Error(err)
				}
			}
			create()
			if again {
				go func() {
					for range 10 {
						select {
						case <-time.After(15 * time.Second):
							create()
						case <-ctx.Done():
							return
						}
					}
				}()
			}
			return run(ctx, config)
		}
		found, err := explore.FindOperator(t, s)
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Findings) != want || want > 0 && found.Findings[0].Oracle != explore.TruthfulStatus {
			t.Errorf("again %v: %s: %+v", again, found, found.Findings)
		}
	}
}
