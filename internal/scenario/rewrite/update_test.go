package rewrite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// updated plays a file with Update, and returns what it has become and the failures that are left.
func updatedFile(t *testing.T, text string) (after string, failures []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := syntax.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Update(t.Context(), syntax.Reader{}, player.Player{}, loaded, func(r player.Result) {
		if r.Failure != nil {
			failures = append(failures, r.Failure.Meanwhile)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(failures) == 0 {
		again, err := syntax.Load(path)
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		player.Player{}.PlayAll(t.Context(), again, func(r player.Result) {
			if r.Failure != nil {
				t.Errorf("played once more: %v", r.Failure)
			}
		})
	}
	return string(data), failures
}

// What differs becomes what the cluster answers; comments, order and layout stay.
func TestUpdate(t *testing.T) {
	const create = "scenario: s\nsteps:\n- create: &a {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: \"1\", y: \"a b\", z: \"b\\nc\\n\"}}\n"
	const get = "- get: {apiVersion: v1, kind: ConfigMap, name: a}\n"
	for _, test := range []struct{ rule, before, after string }{
		{"values in braces keep their quotes, and what stands around them",
			get + "  expect: {data: {y: 'b a' , x: \"2\"}, metadata: {name: b}} # the end\n",
			get + "  expect: {data: {y: 'a b' , x: \"1\"}, metadata: {name: a}} # the end\n"},
		{"values in lines keep the comments beside and between them",
			get + "  # before\n  expect:\n    # of data\n    data:\n      y:   b   # beside\n      # between\n      x: \"1\"\n    metadata: {name: b}\n",
			get + "  # before\n  expect:\n    # of data\n    data:\n      y:   a b   # beside\n      # between\n      x: \"1\"\n    metadata: {name: a}\n"},
		{"a text of several lines stays one",
			get + "  expect:\n    data:\n      z: |\n        one\n        two\n      x: \"1\"\n",
			get + "  expect:\n    data:\n      z: |\n        b\n        c\n      x: \"1\"\n"},
		{"what is not there is absent, and what is new each time is present",
			get + "  expect: {metadata: {uid: x, labels: {a: b}, resourceVersion: !absent }, immutable: true}\n",
			get + "  expect: {metadata: {uid: !present , labels: !absent , resourceVersion: !present }, immutable: !absent }\n"},
		{"a mapping with only some fields gets the others",
			get + "  expect: {data: !only {x: \"1\"}}\n",
			get + "  expect: {data: !only {x: \"1\", \"y\": a b, z: \"b\\nc\\n\"}}\n"},
		{"so it does in lines",
			get + "  expect:\n    data: !only\n      x: \"1\" # one\n      y: a b\n",
			get + "  expect:\n    data: !only\n      x: \"1\" # one\n      y: a b\n      z: |\n        b\n        c\n"},
		{"items are added at the end",
			"- log: x\n  name: y\n- list: {apiVersion: v1, kind: Namespace}\n  expect:\n    items:\n    - metadata: {name: default} # the first\n    - metadata: {name: kube-node-lease}\n    - {metadata: {name: kube-public}, status: {phase: Old}}\n",
			"- log: x\n  name: y\n- list: {apiVersion: v1, kind: Namespace}\n  expect:\n    items:\n    - metadata: {name: default} # the first\n    - metadata: {name: kube-node-lease}\n    - {metadata: {name: kube-public}, status: {phase: Active}}\n    - metadata:\n        name: kube-system\n        labels: {kubernetes.io/metadata.name: kube-system}\n      spec: {finalizers: [kubernetes]}\n      status: {phase: Active}\n"},
		{"items go",
			"- get: {apiVersion: v1, kind: Namespace, name: default}\n  expect:\n    spec:\n      finalizers:\n      # this stays\n      - a\n      - b # this goes\n- get: {apiVersion: v1, kind: Namespace, name: default}\n  expect: {spec: {finalizers: [a, b, kubernetes]}}\n",
			"- get: {apiVersion: v1, kind: Namespace, name: default}\n  expect:\n    spec:\n      finalizers:\n      # this stays\n      - kubernetes\n- get: {apiVersion: v1, kind: Namespace, name: default}\n  expect: {spec: {finalizers: [kubernetes]}}\n"},
		{"an error in place of an answer",
			"- create: *a\n  expect: {data: {x: \"1\"}} # no\n",
			"- create: *a\n  error: {code: 409, reason: AlreadyExists, message: configmaps \"a\" already exists} # no\n"},
		{"another error",
			"- create: *a\n  error:\n    code: 404\n    message: >-\n      not\n      found\n",
			"- create: *a\n  error:\n    code: 409\n    message: >-\n      configmaps \"a\" already exists\n"},
		{"no error",
			get + "  error: {code: 404}\n  name: n\n",
			get + "  name: n\n"},
		{"a code, warnings and a table",
			get + "  code: 201\n  warnings: [no]\n- list: {apiVersion: v1, kind: ConfigMap, namespace: default}\n  table:\n  - [NAME, DATA]\n",
			get + "  code: 200\n  warnings: []\n- list: {apiVersion: v1, kind: ConfigMap, namespace: default}\n  table:\n  - [NAME, DATA, AGE]\n  - [a, 3, !present ]\n"},
		{"a parameter in its case",
			get + "---\nscenario: cases\ncases:\n- {name: a, error: !absent } # good\n- name: A\n  error: {code: 404}\nsteps:\n- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: !from case.name }}\n  error: !from case.error\n- get: {apiVersion: v1, kind: Namespace, name: default}\n  expect: {status: {phase: Old}}\n",
			get + "---\nscenario: cases\ncases:\n- {name: a, error: !absent } # good\n- name: A\n  error: {code: 422}\nsteps:\n- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: !from case.name }}\n  error: !from case.error\n- get: {apiVersion: v1, kind: Namespace, name: default}\n  expect: {status: {phase: Active}}\n"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			after, failures := updatedFile(t, create+test.before)
			if failures != nil {
				t.Errorf("failures: %q", failures)
			}
			if d := cmp.Diff(test.after, strings.TrimPrefix(after, create)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// An expectation that cannot be rewritten stays, and the failure has the reason.
func TestUpdateReportsWhatItCannotRewrite(t *testing.T) {
	const create = "scenario: s\nsteps:\n- create: &a {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: \"1\"}}\n  as: a\n"
	const get = "- get: {apiVersion: v1, kind: ConfigMap, name: a}\n"
	const says = "the expectation cannot be rewritten: "
	for _, test := range []struct{ rule, text, want string }{
		{"a condition of the status", create + get + "  condition: Ready\n", says + "condition is not rewritten"},
		{"a condition", create + get + "  that: [answer.data.x == '2']\n", says + "conditions (that) are not rewritten"},
		{"another answer", create + get + "  expect: {metadata: {name: !from a.data.x }}\n", says + "6:29: the value is computed from other answers"},
		{"an alias", create + get + "  expect: {data: &b {x: \"2\"}}\n- get: {apiVersion: v1, kind: ConfigMap, name: a}\n  expect: {data: *b}\n", says + "6:18: the value has an anchor or is an alias"},
		{"a refusal that nothing expects", create + "- create: *a\n", says + "5:3: the server rejected the request, but the step does not expect an error"},
		{"what cases share", "scenario: s\ncases: [{name: a}, {name: b}]\nsteps:\n- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: !from case.name }}\n  expect: {metadata: {name: a}}\n",
			says + "cases with different answers share the expectation; use a parameter (!from case.NAME) for the answer of each"},
		{"a parameter that requests use", "scenario: s\ncases: [{name: A}]\nsteps:\n- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {l: !from case.name }}}\n  expect: {metadata: {name: !from case.name }}\n",
			says + "5:29: requests use case.name, too"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			after, failures := updatedFile(t, test.text)
			if d := cmp.Diff([]string{test.want}, failures); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(test.text, after); d != "" {
				t.Errorf("the file (-want +got):\n%s", d)
			}
		})
	}
}

// A file that somebody has changed meanwhile is left alone, and the others are written.
func TestUpdateLeavesAFileThatHasChangedMeanwhile(t *testing.T) {
	folder := t.TempDir()
	const text = "scenario: s\nsteps:\n- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: \"1\"}}\n  expect: {data: {x: \"2\"}}\n"
	first, second := filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml")
	for _, path := range []string{first, second} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := syntax.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	const mine = "# mine\n"
	rewritten, err := Update(t.Context(), syntax.Reader{}, player.Player{}, loaded, func(player.Result) {
		if err := os.WriteFile(first, []byte(mine), 0o600); err != nil {
			t.Error(err)
		}
	})
	if err == nil || err.Error() != first+" has changed since it was read, so it is not written" {
		t.Errorf("the error: %v", err)
	}
	if len(rewritten) != 1 || !strings.HasPrefix(rewritten[0], second+": s: ") {
		t.Errorf("rewritten: %q", rewritten)
	}
	for path, want := range map[string]string{first: mine, second: strings.Replace(text, `{x: "2"}`, `{x: "1"}`, 1)} {
		if written, err := os.ReadFile(path); err != nil || string(written) != want {
			t.Errorf("%s: %q, %v", path, written, err)
		}
	}
}
