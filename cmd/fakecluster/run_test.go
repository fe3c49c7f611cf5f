package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

var elapsed = regexp.MustCompile(`\(\d+\.\d{3}s\)`)

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// What the command prints where, and its exit status.
func TestCommand(t *testing.T) {
	const (
		ok  = "scenario: It is well\nsteps:\n- get: {path: /healthz}\n  expect: ok\n"
		bad = "scenario: It is ill\nsteps:\n- name: look\n  get: {path: /version}\n  expect: {major: \"0\"}\n"
	)
	t.Chdir(t.TempDir())
	for path, text := range map[string]string{
		"ok.yaml": ok, "both.yaml": ok + "---\n" + bad, "field.yaml": ok + "  expcet: 1\n", "step.yaml": "scenario: s\nsteps:\n- poke: 1\n",
		"log.yaml": "scenario: It talks\nsteps:\n- log: '\"hello\"'\n- log: world\n", "time.yaml": "scenario: An hour passes\nsteps:\n- advance: 1h\n",
		"widget.yaml":  "scenario: A Widget is kept\nsteps:\n- create: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}\n",
		"widgets.yaml": widgetDefinition,
		"broken.yaml":  "scenario: [\n", "overlay/kustomization.yaml": "resources: [definition.yaml]\n", "overlay/definition.yaml": widgetDefinition,
		"kustomized/s.yaml":                  "scenario: A setup has a kustomization\nsetup:\n- kustomize: dev\nsteps:\n- get: {apiVersion: v1, kind: ConfigMap, name: dev-a, namespace: dev}\n",
		"kustomized/dev/kustomization.yaml":  "resources: [../base, namespace.yaml]\nnamePrefix: dev-\nnamespace: dev\n",
		"kustomized/dev/namespace.yaml":      "{apiVersion: v1, kind: Namespace, metadata: {name: dev}}\n",
		"kustomized/base/kustomization.yaml": "resources: [a.yaml]\n", "kustomized/base/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
		"crds/pod.yaml": "apiVersion: v1\nkind: Pod\n", "empty/README": "nothing",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const steps = "absent, advance, apply, as, body, calls, code, compact, condition, consistently, count, create, delete, deletecollection, error, events, eventually, evict, expect, fault, finalize, " +
		"get, headers, list, log, name, options, patch, scale, settle, status, subresource, table, that, to, type, update, warnings, watch, webhook, wide"
	tests := []struct {
		rule           string
		args           []string
		status         int
		stdout, stderr string
	}{
		{"scenarios that pass", []string{"run", "ok.yaml"}, 0,
			"ok    ok.yaml:1: It is well (0.000s)\n1 passed, 0 failed\n", ""},
		{"one that fails", []string{"run", "both.yaml"}, 1, `ok    both.yaml:1: It is well (0.000s)
FAIL  both.yaml:6: It is ill (0.000s)
    both.yaml:8: step 1 (look): get /version: unexpected answer (-want +got):
        - major: "0"
        + major: "1"
1 passed, 1 failed
`, ""},
		{"definitions that each cluster begins with", []string{"run", "--crds", "widgets.yaml", "widget.yaml"}, 0,
			"ok    widget.yaml:1: A Widget is kept (0.000s)\n1 passed, 0 failed\n", ""},
		{"manifests that each cluster begins with", []string{"run", "--manifests", "widgets.yaml", "widget.yaml"}, 0,
			"ok    widget.yaml:1: A Widget is kept (0.000s)\n1 passed, 0 failed\n", ""},
		{"a kustomization that each cluster begins with", []string{"run", "--kustomize", "overlay", "widget.yaml"}, 0,
			"ok    widget.yaml:1: A Widget is kept (0.000s)\n1 passed, 0 failed\n", ""},
		{"a kustomization in a setup, whose base is elsewhere", []string{"run", "kustomized"}, 0,
			"ok    kustomized/s.yaml:1: A setup has a kustomization (0.000s)\n1 passed, 0 failed\n", ""},
		{"without its definition", []string{"run", "widget.yaml"}, 1,
			"FAIL  widget.yaml:1: A Widget is kept (0.000s)\n    widget.yaml:3: step 1: create Widget.example.com w: the cluster does not serve the kind Widget in example.com/v1, and never did in this scenario\n0 passed, 1 failed\n", ""},
		{"definitions for a cluster that runs already", []string{"run", "--crds", "widgets.yaml", "--kubeconfig", "none", "widget.yaml"}, 2,
			"", "fakecluster: run: --crds, --manifests and --kustomize are for clusters in this process; install them in the cluster of --kubeconfig before\n"},
		{"patience with a cluster in this process", []string{"run", "--grace", "5s", "ok.yaml"}, 2,
			"", "fakecluster: run: --grace is a duration such as 10s, and needs --kubeconfig: clusters in this process finish their work within the write\n"},
		{"less than no patience", []string{"run", "--grace", "-5s", "--kubeconfig", "none", "ok.yaml"}, 2,
			"", "fakecluster: run: --grace is a duration such as 10s, and needs --kubeconfig: clusters in this process finish their work within the write\n"},
		{"a report in a folder that is not there", []string{"run", "--report", "json", "none/r.json", "ok.yaml"}, 1,
			"", "fakecluster: run: --report: stat none: no such file or directory\n"},
		{"a new what", []string{"new"}, 2, "", "fakecluster: new: give a subcommand: fakecluster new scenario FILE\n"},
		{"something else that is new", []string{"new", "widget"}, 2, "", "fakecluster: unknown command \"widget\" for \"fakecluster new\"\n"},
		{"no path", []string{"run"}, 2,
			"", "fakecluster: run: no scenarios given; give a file, a folder or a glob\n"},
		{"chosen by their names", []string{"run", "--run", "both.yaml/.*well$", "both.yaml"}, 0,
			"ok    both.yaml:1: It is well (0.000s)\n1 passed, 0 failed\n", ""},
		{"a choice of none", []string{"run", "--run", "sick", "both.yaml"}, 1,
			"", "fakecluster: run: no scenario matches sick\n"},
		{"a choice that is none", []string{"run", "--run", "(", "both.yaml"}, 2,
			"", "fakecluster: run: --run: error parsing regexp: missing closing ): `(`\n"},
		{"quiet", []string{"run", "-q", "ok.yaml", "log.yaml"}, 0,
			"2 passed, 0 failed\n", ""},
		{"with the log", []string{"run", "-v", "--parallel", "1", "log.yaml"}, 0,
			"ok    log.yaml:1: It talks (0.000s)\n    \"hello\"\n    world\n1 passed, 0 failed\n", ""},
		{"quiet and with the log", []string{"run", "-qv", "log.yaml"}, 2,
			"", "fakecluster: run: --quiet and --verbose exclude each other; leave one of them out\n"},
		{"fewer than none", []string{"run", "--parallel", "-1", "log.yaml"}, 2,
			"", "fakecluster: run: --parallel: -1 is negative; write a number of scenarios, or leave the flag out\n"},
		{"a report in no format", []string{"run", "--report", "html=x", "log.yaml"}, 2,
			"", "fakecluster: run: --report takes junit FILE or json FILE, not html x\n"},
		{"a report in no file", []string{"run", "log.yaml", "--report", "junit"}, 2,
			"", "fakecluster: run: --report takes junit FILE or json FILE, not junit\n"},
		{"a report in place of scenarios", []string{"run", "--report", "junit", "log.yaml", "ok.yaml"}, 2,
			"", "fakecluster: run: --report would overwrite log.yaml, which looks like a scenario file\n"},
		{"a cluster of no kubeconfig", []string{"run", "--kubeconfig", "none", "ok.yaml"}, 1,
			"", "fakecluster: run: --kubeconfig: stat none: no such file or directory\n"},
		{"in virtual time", []string{"run", "time.yaml"}, 0,
			"ok    time.yaml:1: An hour passes (0.000s)\n1 passed, 0 failed\n", ""},
		{"a path that is not there", []string{"run", "ok.yaml", "none"}, 1,
			"", "fakecluster: run: nothing was played:\nnone: no such file or folder\n"},
		{"a folder without scenarios", []string{"run", "empty"}, 1,
			"", "fakecluster: run: nothing was played:\nempty: no scenario found\n"},
		{"YAML that is none", []string{"run", "broken.yaml"}, 1,
			"", "fakecluster: run: nothing was played:\nbroken.yaml:1: not YAML: did not find expected node content\n"},
		{"mistakes in several files", []string{"run", "field.yaml", "step.yaml"}, 1,
			"", "fakecluster: run: nothing was played:\n" +
				"field.yaml:5:3: unknown field \"expcet\" in a step (allowed: " + steps + "); did you mean \"expect\"?\n" +
				"step.yaml:3:3: unknown field \"poke\" in a step (allowed: " + steps + ")\n"},
		{"an unknown command", []string{"play"}, 2,
			"", "fakecluster: unknown command \"play\" for \"fakecluster\"\n"},
		{"help about something unknown", []string{"help", "play"}, 2,
			"", "fakecluster: help: unknown command \"play\" for \"fakecluster\"\n"},
		{"completion for an unknown shell", []string{"completion", "dash"}, 2,
			"", "fakecluster: unknown command \"dash\" for \"fakecluster completion\"\n"},
		{"completion for no shell", []string{"completion"}, 2,
			"", "fakecluster: completion: give a shell: fakecluster completion bash|fish|powershell|zsh\n"},
		{"an unknown flag", []string{"serve", "--ports", "1"}, 2,
			"", "fakecluster: unknown flag: --ports\n"},
		{"no port", []string{"serve", "--port", "0"}, 2,
			"", "fakecluster: serve: --port: 0 is not a port; write one from 1 to 65535, or leave the flag out for a free one\n"},
		{"controllers that exclude each other", []string{"serve", "--controllers", "none,*"}, 2,
			"", "fakecluster: serve: --controllers: none excludes other names; write none alone, or only the others\n"},
		{"a controller that runs with workloads", []string{"serve", "--controllers", "endpoints-controller"}, 2,
			"", "fakecluster: serve: --controllers: \"endpoints-controller\" is not a controller that acts within a write: " +
				strings.ReplaceAll(controllerNames(), "\n", " ") + " are; another one of kube-controller-manager runs with --workloads\n"},
		{"objects that are not there", []string{"serve", "--objects", "none"}, 1,
			"", "fakecluster: serve: --objects: open none: no such file or directory\n"},
		{"a plugin that there is not", []string{"serve", "--disable-admission-plugins", "Mind"}, 1,
			"", "fakecluster: serve: starting the server: disable-admission-plugins plugin \"Mind\" is unknown\n"},
		{"a session that begins with what a scenario cannot", []string{"serve", "--record", "session.yaml", "--data", "d"}, 2,
			"", "fakecluster: serve: --record and --data exclude each other, because a scenario cannot begin with the content of that file; use --manifests, which can be recorded\n"},
		{"a session over something else", []string{"serve", "--record", "ok.yaml"}, 1,
			"", "fakecluster: serve: --record: ok.yaml exists already and is not overwritten: remove it, or name another file\n"},
		{"serve takes no path", []string{"serve", "ok.yaml"}, 2,
			"", "fakecluster: unknown command \"ok.yaml\" for \"fakecluster serve\"\n"},
		{"a kubeconfig in no folder", []string{"serve", "--kubeconfig", "none/kubeconfig"}, 1,
			"", "fakecluster: serve: kubeconfig: stat none: no such file or directory\n"},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := execute(withBubbles(t.Context(), t), test.args, &stdout, &stderr)
			if status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if d := cmp.Diff(test.stdout, elapsed.ReplaceAllString(stdout.String(), "(0.000s)")); d != "" {
				t.Errorf("stdout (-want +got):\n%s", d)
			}
			if d := cmp.Diff(test.stderr, stderr.String()); d != "" {
				t.Errorf("stderr (-want +got):\n%s", d)
			}
		})
	}
}

// A path to definitions that is bad ends serve before it is ready, with the path in
// the message; the words are the fakecluster package's.
func TestServeRefusesBadDefinitions(t *testing.T) {
	missing := t.TempDir() + "/none.yaml"
	wrong := t.TempDir() + "/pod.yaml"
	if err := os.WriteFile(wrong, []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{missing, wrong} {
		var stdout, stderr bytes.Buffer
		status := execute(t.Context(), []string{"serve", "--crds", path}, &stdout, &stderr)
		if status != 1 || stdout.Len() > 0 || !strings.Contains(stderr.String(), path) {
			t.Errorf("serve --crds %s: status %d, stdout %q, stderr %q", path, status, &stdout, &stderr)
		}
	}
}

// Help lists commands and topics on stdout.
func TestHelp(t *testing.T) {
	tests := []struct {
		args []string
		want []string
	}{
		{nil, []string{"serve", "run"}},
		{[]string{"serve", "--help"}, []string{"--kubeconfig", "--crds", "ready URL", "SIGTERM"}},
		{[]string{"run", "--help"}, []string{"PATH...", "create:", "get:", "list:", "update:", "delete:", "N passed"}},
	}
	for _, test := range tests {
		var stdout, stderr bytes.Buffer
		if status := execute(t.Context(), test.args, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
			t.Errorf("%q: status %d, stderr %q", test.args, status, &stderr)
		}
		for _, want := range test.want {
			if !strings.Contains(stdout.String(), want) {
				t.Errorf("help of %q has no %q:\n%s", test.args, want, &stdout)
			}
		}
	}
}

// An interrupted run is not a success.
func TestInterruptedRun(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("interrupt"))
	var stdout, stderr bytes.Buffer
	status := execute(ctx, []string{"run", "../../scenarios/namespaces"}, &stdout, &stderr)
	// The folder uses manifests of another one, so this also shows that it stands alone.
	last := strings.Split(stdout.String(), "\n")
	if status != 1 || len(last) < 2 || !regexp.MustCompile("^0 passed, [1-9][0-9]* failed$").MatchString(last[len(last)-2]) {
		t.Errorf("status %d, stdout:\n%s\nstderr:\n%s", status, &stdout, &stderr)
	}
}

// What --report writes, of a scenario that passes, one that fails and one that is skipped.
func TestReport(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = "scenario: It is well\nsteps:\n- log: a <b>\n---\nscenario: It is ill\ncases: [{name: one}]\nsteps:\n- get: {path: /healthz}\n  expect: ill\n" +
		"---\nscenario: It waits\nsteps:\n- advance: 1h\n"
	if err := os.WriteFile("s.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	times := regexp.MustCompile(`(time="|"seconds": )[0-9.e-]+`)
	for _, test := range []struct {
		report []string
		want   string
	}{
		{[]string{"junit", "out"}, `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="s.yaml" tests="3" failures="1" skipped="1" time="0">
    <testcase classname="s.yaml" name="It is well" line="1" time="0">
      <system-out>a &lt;b&gt;&#xA;</system-out>
    </testcase>
    <testcase classname="s.yaml" name="It is ill: one" line="6" time="0">
      <failure message="unexpected answer">s.yaml:8: step 1: get /healthz: unexpected answer (-want +got):&#xA;    - ill&#xA;    + ok</failure>
    </testcase>
    <testcase classname="s.yaml" name="It waits" line="11" time="0">
      <skipped message="advance and settle need virtual time, which this cluster does not have"></skipped>
    </testcase>
  </testsuite>
</testsuites>
`},
		{[]string{"json", "out"}, `[
  {
    "file": "s.yaml",
    "line": 1,
    "scenario": "It is well",
    "result": "passed",
    "seconds": 0,
    "log": [
      "a <b>"
    ]
  },
  {
    "file": "s.yaml",
    "line": 6,
    "scenario": "It is ill",
    "case": "one",
    "result": "failed",
    "seconds": 0,
    "failure": {
      "file": "s.yaml",
      "line": 8,
      "step": "step 1",
      "message": "unexpected answer",
      "text": "s.yaml:8: step 1: get /healthz: unexpected answer (-want +got):\n    - ill\n    + ok"
    }
  },
  {
    "file": "s.yaml",
    "line": 11,
    "scenario": "It waits",
    "result": "skipped",
    "seconds": 0,
    "reason": "advance and settle need virtual time, which this cluster does not have"
  }
]
`},
	} {
		var stdout, stderr bytes.Buffer
		if status := execute(t.Context(), append([]string{"run", "s.yaml", "--report"}, test.report...), &stdout, &stderr); status != failed {
			t.Errorf("%q: status %d, stderr %s", test.report, status, &stderr)
		}
		got, err := os.ReadFile("out")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(test.want, times.ReplaceAllString(string(got), "${1}0")); d != "" {
			t.Errorf("%q (-want +got):\n%s", test.report, d)
		}
	}
}

// What --update prints and leaves.
func TestUpdate(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("s.yaml", []byte("scenario: It is ill\nsteps:\n- get: {path: /healthz}\n  expect: ill # no\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ok    s.yaml:1: It is ill (0.000s)\nrewritten s.yaml: It is ill: step 1\n1 passed, 0 failed\n",
		"ok    s.yaml:1: It is ill (0.000s)\n1 passed, 0 failed\n",
	} {
		var stdout, stderr bytes.Buffer
		if status := execute(t.Context(), []string{"run", "--update", "s.yaml"}, &stdout, &stderr); status != succeeded || stderr.Len() > 0 {
			t.Errorf("status %d, stderr %s", status, &stderr)
		}
		if d := cmp.Diff(want, elapsed.ReplaceAllString(stdout.String(), "(0.000s)")); d != "" {
			t.Errorf("stdout (-want +got):\n%s", d)
		}
	}
	text, err := os.ReadFile("s.yaml")
	if want := "scenario: It is ill\nsteps:\n- get: {path: /healthz}\n  expect: ok # no\n"; err != nil || string(text) != want {
		t.Errorf("%v: %s", err, text)
	}
}

// The spelling with an equals sign is that of earlier versions, and both may stand after other flags.
func TestReportIsSpelledInOneOrTwoWords(t *testing.T) {
	for _, test := range [][2]string{
		{"run --report junit FILE PATH", "run --report junit=FILE PATH"},
		{"run --report=json FILE PATH", "run --report=json=FILE PATH"},
		{"run -q PATH --report junit=FILE --report json OTHER", "run -q PATH --report junit=FILE --report json=OTHER"},
		{"run PATH --report junit", "run PATH --report junit"},
		{"run -- --report junit FILE", "run -- --report junit FILE"},
		{"serve --report junit FILE", "serve --report junit FILE"},
	} {
		if got := strings.Join(withReports(strings.Fields(test[0])), " "); got != test[1] {
			t.Errorf("%s: %s, want %s", test[0], got, test[1])
		}
	}
}

// What new writes passes, names its schema, and is not overwritten.
func TestNewScenario(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		args           []string
		status         int
		stdout, stderr string
	}{
		{[]string{"new", "scenario"}, 2, "", "fakecluster: new scenario: give one file to write\n"},
		{[]string{"new", "scenario", "first.yaml"}, 0, "first.yaml\n", ""},
		{[]string{"new", "scenario", "first.yaml"}, 1, "", "fakecluster: new scenario: first.yaml exists already and is not overwritten: remove it, or name another file\n"},
		{[]string{"new", "scenario", "testdata/scenarios/first.yaml"}, 0, "testdata/scenarios/first.yaml\n", ""},
		{[]string{"new", "scenario", "first.yaml/first.yaml"}, 1, "", "fakecluster: new scenario: mkdir first.yaml: not a directory\n"},
		{[]string{"run", "first.yaml"}, 0, "ok    first.yaml:5: A ConfigMap keeps its data, and its name is unique (0.000s)\n" +
			"ok    first.yaml:31: The name of a ConfigMap is one of DNS: good (0.000s)\n" +
			"ok    first.yaml:32: The name of a ConfigMap is one of DNS: Bad (0.000s)\n3 passed, 0 failed\n", ""},
	} {
		var stdout, stderr bytes.Buffer
		status := execute(t.Context(), test.args, &stdout, &stderr)
		if got := elapsed.ReplaceAllString(stdout.String(), "(0.000s)"); status != test.status || got != test.stdout || stderr.String() != test.stderr {
			t.Errorf("%q: status %d, stdout %s, stderr %s", test.args, status, got, &stderr)
		}
	}
	text, err := os.ReadFile("first.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(string(text), "\n"); first != "# yaml-language-server: $schema="+syntax.SchemaURL {
		t.Errorf("first line: %s", first)
	}
}

// The environment variables that explain failed tests explain failed scenarios, too.
func TestFailedScenarioIsExplained(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	if err := os.WriteFile("s.yaml", []byte("scenario: It fails\nsteps:\n- get: {path: /version}\n  expect: {major: \"0\"}\n"+
		"---\nscenario: It passes\nsteps:\n- get: {path: /healthz}\n  expect: ok\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKECLUSTER_REPORT", "pages")
	t.Setenv("FAKECLUSTER_FINDINGS", "1")
	var stdout, stderr bytes.Buffer
	if status := execute(t.Context(), []string{"run", "s.yaml"}, &stdout, &stderr); status != failed {
		t.Errorf("status %d", status)
	}
	pages, err := filepath.Glob("pages/*")
	if err != nil || len(pages) != 1 {
		t.Fatalf("pages %v, error %v, want one of the scenario that failed", pages, err)
	}
	const summary = "    fakecluster: what happened in the cluster, the newest first ("
	for _, want := range []string{summary, "\n    fakecluster: the report is in " + filepath.Join(folder, pages[0]) + "\n"} {
		if strings.Count(stdout.String(), want) != 1 {
			t.Errorf("the output does not have %q once:\n%s", want, stdout.String())
		}
	}
	if page, err := os.ReadFile(pages[0]); err != nil || !strings.Contains(string(page), "s.yaml: It fails") {
		t.Errorf("the page does not have the title of the scenario; error %v", err)
	}
}
