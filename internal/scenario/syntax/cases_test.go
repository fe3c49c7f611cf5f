package syntax

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/admission/plugins"
)

// A mistake has its column and, if possible, a suggestion.
func TestMistakesAreFoundExactly(t *testing.T) {
	const head = "scenario: s\nsteps:\n"
	const get = "- get: {path: /x}\n"
	var names []string
	for _, c := range fakecluster.AllControllers() {
		names = append(names, string(c))
	}
	controllers, plugins := strings.Join(names, ", "), strings.Join(plugins.Names(), ", ")
	effects := strings.Join(slices.Sorted(maps.Keys(plainEffects)), ", ")
	const table = "scenario: s\ncases:\n- {name: none, replicas: 0}\n- {name: one, replicas: 1}\nsteps:\n"
	tests := []struct {
		rule, text string
		want       []string
	}{
		{"a field", head + get + "  options: {dryRin: All}\n", []string{
			`f.yaml:4:13: unknown field "dryRin" in the options (allowed: ` + strings.Join(QueryOptions, ", ") + `); did you mean "dryRun"?`}},
		{"a character of an expression", head + get + "  that: [\"answer.x == anser.y\"]\n", []string{
			`f.yaml:4:23: not CEL: answer.x == anser.y: undeclared reference to 'anser' (in container ''); did you mean "answer"?`}},
		{"a character of an expression after its tag", head + get + "  as: made\n- create: {apiVersion: v1, kind: K, x: !cel mad.x }\n", []string{
			`f.yaml:5:45: not CEL: mad.x: undeclared reference to 'mad' (in container ''); did you mean "made"?`}},
		{"a function of an expression", head + get + "  that: [\"answer.x.startWith('a')\"]\n", []string{
			`f.yaml:4:29: not CEL: answer.x.startWith('a'): undeclared reference to 'startWith' (in container ''); did you mean "startsWith"?`}},
		{"a macro of an expression", head + get + "  that: [answer.x.exist(1)]\n", []string{
			`f.yaml:4:24: not CEL: answer.x.exist(1): undeclared reference to 'exist' (in container ''); did you mean "exists"?`}},
		{"a number that is none", head + "- count: {apiVersion: v1, kind: K}\n  expect: five\n", []string{
			`f.yaml:4:11: the answer to count is a number`}},
		{"a number that is a list", head + "- count: {apiVersion: v1, kind: K}\n  expect: [1]\n", []string{
			`f.yaml:4:11: the answer to count is a number`}},
		{"a list that is a number", head + "- events: {apiVersion: v1, kind: K, name: x}\n  expect: 1\n", []string{
			`f.yaml:4:11: the answer to events is a list`}},
		{"a list that is a mapping", head + "- events: {apiVersion: v1, kind: K, name: x}\n  expect: {items: []}\n", []string{
			`f.yaml:4:11: the answer to events is a list`}},
		{"a name before it is captured", head + get + "  that: [made.x == 1]\n" + get + "  as: made\n", []string{
			`f.yaml:4:10: not CEL: made.x == 1: undeclared reference to 'made' (in container ''); the name is captured later, on line 6`}},
		{"a tag", head + get + "  expect: {x: !presnt }\n", []string{
			`f.yaml:4:15: unknown tag !presnt; did you mean "!present"?`}},
		{"a condition that is always the same", head + get + "  that: [1 < 2]\n", []string{
			`f.yaml:4:10: 1 < 2 does not refer to an answer, so its value does not depend on the server`}},
		{"an expectation that every answer meets", head + get + "  expect: {}\n", []string{
			`f.yaml:4:11: this expectation can never fail: every answer matches it; remove it, or add fields`}},
		{"an expectation of nothing", head + get + "  expect: !absent\n", []string{
			`f.yaml:4:11: this expectation can never fail: !absent means no expectation; remove it, or use an absent step to check that an object does not exist`}},
		{"an expectation of what every answer has", head + "- get: {apiVersion: v1, kind: Pod, name: a}\n  expect: {kind: !present , metadata: {}}\n", []string{
			`f.yaml:4:11: this expectation can never fail: every answer matches it; remove it, or add fields`}},
		{"and of what every list has", head + "- list: {apiVersion: v1, kind: Pod}\n  expect: {items: !present }\n", []string{
			`f.yaml:4:11: this expectation can never fail: every answer matches it; remove it, or add fields`}},
		{"a case whose expectation every answer meets", "scenario: s\ncases: [{name: a, want: {x: 1}}, {name: b, want: {}}]\nsteps:\n" + get + "  expect: !from case.want\n", []string{
			`f.yaml:5:11: the case "b": this expectation can never fail: every answer matches it; remove it, or add fields`}},
		{"cases that all expect nothing", "scenario: s\ncases: [{name: a, want: !absent }]\nsteps:\n" + get + "  expect: !from case.want\n", []string{
			`f.yaml:5:11: this expectation can never fail: the parameter is !absent in every case, which means no expectation; remove it`}},
		{"a condition of the same on both sides", head + get + "  that: [answer.x == answer.x]\n", []string{
			`f.yaml:4:10: answer.x == answer.x can never fail: its two sides are the same`}},
		{"a condition that one side makes true", head + get + "  that: ['answer.x == 1 || size(\"a\") == 1']\n", []string{
			`f.yaml:4:10: answer.x == 1 || size("a") == 1 can never fail: one side of it is always true`}},
		{"a size of at least none", head + get + "  that: [size(answer.x) >= 0]\n", []string{
			`f.yaml:4:10: size(answer.x) >= 0 can never fail: a size is never less than 0`}},
		{"a count of at least none", head + "- count: {apiVersion: v1, kind: Pod}\n  that: [answer >= 0]\n", []string{
			`f.yaml:4:10: answer >= 0 can never fail: a number of objects is never less than 0`}},
		{"a fault without an effect", head + "- fault: {verb: get}\n", []string{
			`f.yaml:3:10: a fault needs effect or latency`}},
		{"an effect that there is not", head + "- fault: {effect: conflikt}\n", []string{
			`f.yaml:3:19: effect: "conflikt" is not one of ` + effects + ` (other effects need a value); did you mean "conflict"?`}},
		{"two effects", head + "- fault: {effect: {dropWatch: 1, staleRead: 1}}\n", []string{
			`f.yaml:3:19: a fault must have exactly one effect`}},
		{"a fault with an answer", head + "- fault: {effect: conflict}\n  expect: {x: 1}\n", []string{
			`f.yaml:3:3: fault does not return an answer, so the step cannot have expectations or a name for it`}},
		{"a compaction of something", head + "- compact: {resource: pods}\n", []string{
			`f.yaml:3:13: unknown field "resource" in compact, which must be empty: {}`}},
		{"a count that nobody looks at", head + "- count: {apiVersion: v1, kind: Pod}\n", []string{
			`f.yaml:3:3: a count step can never fail without the field "expect" or "that"`}},
		{"a scale without a number", head + "- scale: {apiVersion: v1, kind: K, name: x}\n", []string{
			`f.yaml:3:10: the step needs replicas`}},
		{"a scale of no number", head + "- scale: {apiVersion: v1, kind: K, name: x, replicas: two}\n", []string{
			`f.yaml:3:55: replicas takes a number`}},
		{"a status with a spec", head + "- status: {apiVersion: v1, kind: K, metadata: {name: x}, spec: {}, status: {}}\n", []string{
			`f.yaml:3:11: spec is not allowed here: only the status is sent`}},
		{"a status without one", head + "- status: {apiVersion: v1, kind: K, metadata: {name: x}}\n", []string{
			`f.yaml:3:11: the manifest needs status`}},
		{"a duration that is none", head + "- advance: 1 hour\n", []string{
			`f.yaml:3:12: advance must be a positive duration such as 1s, 30m or 1h30m, not "1 hour"`}},
		{"a duration without a unit", head + "- advance: 5\n", []string{
			`f.yaml:3:12: advance must be a positive duration such as 1s, 30m or 1h30m, not "5"`}},
		{"a controller that there is not", "scenario: s\ncluster: {controllers: [namespace-controler]}\nsteps:\n" + get, []string{
			`f.yaml:2:25: unknown controller "namespace-controler" (allowed: ` + controllers + `); did you mean "namespace-controller"?`}},
		{"a controller that runs elsewhere", "scenario: s\ncluster: {controllers: [endpoints-controller]}\nsteps:\n" + get, []string{
			`f.yaml:2:25: unknown controller "endpoints-controller" (allowed: ` + controllers + `); another one of kube-controller-manager runs with workloads: {controllers: [endpoints-controller]}`}},
		{"a plugin that there is not", "scenario: s\ncluster: {withoutAdmissionPlugins: [Priorty]}\nsteps:\n" + get, []string{
			`f.yaml:2:37: unknown admission plugin "Priorty" (allowed: ` + plugins + `); did you mean "Priority"?`}},
		{"a tab that indents", head + "- get:\n \tpath: /x\n", []string{
			`f.yaml:4:2: not YAML: a tab cannot indent: use spaces`}},
		{"an alias without its anchor", head + get + "- {log: [ä, *other]}\n", []string{
			`f.yaml:4:13: not YAML: unknown alias *other: no value before it has the anchor &other`}},
		{"a scenario that no line divides from the next", head + get + head + get, []string{
			`f.yaml:4:1: field "scenario" is given twice, first on line 1; separate two scenarios by a line "---"`,
			`f.yaml:5:1: field "steps" is given twice, first on line 2`}},
		{"no conditions", head + get + "  that: []\n", []string{
			`f.yaml:4:9: this expectation can never fail: the list "that" is empty; remove it, or add a condition`}},
		{"an expectation that is indented too little", head + "- get: {path: /x}\n  expect:\n", []string{
			`f.yaml:4:10: expect is empty; indent its fields below it`}},
		{"an object that is a list", head + "- list: {apiVersion: v1, kind: Pod}\n  expect: []\n", []string{
			`f.yaml:4:11: the answer to list is an object: expect must be a mapping with some of its fields`}},
		{"an object that is a number", head + "- get: {apiVersion: v1, kind: Pod, name: x}\n  expect: 1\n", []string{
			`f.yaml:4:11: the answer to get is an object: expect must be a mapping with some of its fields`}},
		{"an error that is none", head + get + "  error: {code: 201}\n", []string{
			`f.yaml:4:17: the code of an error must be from 400 to 599, not 201`}},
		{"an error whose code is a text", head + get + "  error: {code: NotFound}\n", []string{
			`f.yaml:4:17: the code of an error must be a number, such as 404`}},
		{"an error whose reason is a number", head + get + "  error: {reason: 404}\n", []string{
			`f.yaml:4:19: the reason of an error must be a string`}},
		{"an error of a case that is a success", "scenario: s\ncases:\n- {name: a, error: {code: 200}}\nsteps:\n" + get + "  error: !from case.error\n", []string{
			`f.yaml:6:10: the case "a": the code of an error must be from 400 to 599, not 200`}},
		{"a warning that is not text", head + get + "  warnings: [a, {text: b}]\n", []string{
			`f.yaml:4:17: a warning must be a string`}},
		{"an option that is a mapping", head + get + "  options: {labelSelector: {app: web}}\n", []string{
			`f.yaml:4:28: an option must be a string, a number or a boolean`}},
		{"a case whose name is a number", "scenario: s\ncases:\n- {name: 1, x: a}\nsteps:\n- create: {apiVersion: v1, kind: K, x: !from case.x }\n", []string{
			`f.yaml:3:10: the name of a case must be a string: put it in quotes`}},
		{"a settling that is over before it can be", head + "- settle: {quiet: 1h, within: 1s}\n", []string{
			`f.yaml:3:11: settle: quiet (1h0m0s) must not be longer than within (1s)`}},
		{"a verb of a fault that there is not", head + "- fault: {verb: gett, effect: conflict}\n", []string{
			`f.yaml:3:17: verb: "gett" is not one of get, list, watch, create, update, patch, delete, deletecollection; did you mean "get"?`}},
		{"a step that lasts and asks for nothing", head + "- list: {apiVersion: v1, kind: K}\n  eventually: 1s\n", []string{
			`f.yaml:3:3: eventually and consistently need an expectation in a list step`}},
		{"a path that lasts", head + get + "  expect: ok\n  consistently: 1s\n", []string{
			`f.yaml:3:3: eventually and consistently cannot watch a path: use apiVersion and kind`}},
		{"a step that lasts in two ways", head + "- absent: {apiVersion: v1, kind: K, name: x}\n  consistently: 1s\n  eventually: 1s\n", []string{
			`f.yaml:3:3: a step cannot have both eventually and consistently`}},
		{"what has no answer", head + "- absent: {apiVersion: v1, kind: K, name: x}\n  code: 404\n", []string{
			`f.yaml:3:3: absent does not return an answer, so the step cannot have expectations or a name for it`}},
		{"a case without a name", "scenario: s\ncases:\n- {replicas: 1}\nsteps:\n" + get, []string{
			`f.yaml:3:3: a case needs a name: name: a few words that describe the case`}},
		{"a case that is there twice", "scenario: s\ncases:\n- {name: a}\n- {name: a}\nsteps:\n" + get, []string{
			`f.yaml:4:3: duplicate case name "a", first on line 3`}},
		{"a table without cases", "scenario: s\ncases: []\nsteps:\n" + get, []string{
			`f.yaml:2:8: cases must not be empty; remove it from a scenario that is played once`}},
		{"a parameter that a case does not have", table + "- create: {apiVersion: v1, kind: K, replicas: !from case.replica }\n", []string{
			`f.yaml:6:47: the case "none" does not have the parameter "replica"; did you mean "replicas"?`,
			`f.yaml:6:47: the case "one" does not have the parameter "replica"; did you mean "replicas"?`}},
		{"one of an expression", table + "- create: {apiVersion: v1, kind: K, replicas: !cel case.replica + 1 }\n", []string{
			`f.yaml:6:47: the case "none" does not have the parameter "replica"; did you mean "replicas"?`,
			`f.yaml:6:47: the case "one" does not have the parameter "replica"; did you mean "replicas"?`}},
		{"a parameter that nothing refers to", table + get, []string{
			`f.yaml:3:1: the case "none" has the parameter "replicas", but nothing refers to it; remove it, or write !from case.replicas`}},
		{"a parameter without cases", head + "- create: {apiVersion: v1, kind: K, x: !from case.x }\n", []string{
			`f.yaml:3:40: the scenario does not have cases`}},
		{"a mark where it has no sense", "scenario: s\ncases:\n- {name: a, x: !present }\nsteps:\n- create: {apiVersion: v1, kind: K, x: !from case.x }\n", []string{
			`f.yaml:5:40: the case "a": !present is not allowed where case.x is used`}},
		{"an error of a case that is none", "scenario: s\ncases:\n- {name: a, error: {cod: 404}}\nsteps:\n" + get + "  error: !from case.error\n", []string{
			`f.yaml:6:10: the case "a": unknown field "cod" in an error (allowed: body, code, details, message, reason, status); did you mean "code"?`}},
		{"a fault that a case gives", "scenario: s\ncases:\n- {name: a, f: {effect: conflict}, d: 1h}\n- {name: b, f: {effect: conflikt}, d: soon}\nsteps:\n- fault: !from case.f\n- advance: !from case.d\n", []string{
			`f.yaml:4:25: effect: "conflikt" is not one of ` + effects + ` (other effects need a value); did you mean "conflict"?`,
			`f.yaml:4:39: advance must be a positive duration such as 1s, 30m or 1h30m, not "soon"`}},
		{"a duration that one case does not give", "scenario: s\ncases: [{name: a, d: 1h}, {name: b}]\nsteps:\n- advance: !from case.d\n", []string{
			`f.yaml:4:12: the case "b" does not have the parameter "d"`}},
		{"a duration of a parameter that there is not", "scenario: s\ncases: [{name: a, day: 1h}]\nsteps:\n- advance: !from case.dat\n", []string{
			`f.yaml:4:12: the case "a" does not have the parameter "dat"; did you mean "day"?`}},
		{"what stands in no file where that has to be constant", head + get + "  as: made\n- get: {path: /y}\n  name: !from made.x\n", []string{
			`f.yaml:6:9: !from is not allowed here`}},
		{"a cluster of each case its own", "scenario: s\ncases: [{name: a, c: [x]}]\ncluster: {controllers: !from case.c }\nsteps:\n" + get, []string{
			`f.yaml:3:24: controllers takes a list`}},
		{"a name that is taken", head + get + "  as: case\n", []string{
			`f.yaml:3:3: "case" is a reserved name in expressions`}},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			var got []string
			for _, mistake := range Parse("f.yaml", []byte(test.text)).mistakes {
				got = append(got, mistake.Error())
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("mistakes in\n%s(-want +got):\n%s", test.text, d)
			}
		})
	}
}
