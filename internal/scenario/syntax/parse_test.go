package syntax

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/internal/description/living"
)

// column is where in its line a mistake is; TestMistakesAreFoundExactly proves it.
var column = regexp.MustCompile(`^([^: ]+:\d+):\d+: `)

// namesOfClusterFields returns the fields of a cluster in a scenario, sorted and separated by commas.
func namesOfClusterFields() string {
	var names []string
	for _, f := range clusterFields() {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Every mistake names the line it is on. The cases are lines of a file f.yaml.
func TestMistakes(t *testing.T) {
	const head = "scenario: s\nsteps:\n"
	const get = "- get: {path: /x}\n"
	const hook = "scenario: s\nwebhooks:\n- name: w\n  service: {namespace: d, name: x}\n  response: {}\n"
	const fields = "absent, advance, apply, as, body, calls, code, compact, condition, consistently, count, create, delete, deletecollection, error, events, eventually, evict, expect, fault, finalize, " +
		"get, headers, list, log, name, options, patch, scale, settle, status, subresource, table, that, to, type, update, warnings, watch, webhook, wide"
	tests := []struct {
		rule, text string
		want       []string
	}{
		{"broken YAML is not read", "scenario: s\nsteps: [\n", []string{
			`f.yaml:2: not YAML: did not find expected node content`}},
		{"a tag in braces needs a space", head + get + "  expect: {x: !absent}\n", []string{
			`f.yaml:4: not YAML: did not find expected whitespace or line break after a tag (inside of braces that is: {status: !absent })`}},
		{"a scenario has valid fields", "scenario: s\nstep: []\nsteps:\n" + get, []string{
			`f.yaml:2: unknown field "step" in a scenario (allowed: cases, cluster, scenario, setup, steps, webhooks, workloads); did you mean "steps"?`}},
		{"a cluster has valid fields", "scenario: s\ncluster: {seed: 1}\nsteps:\n" + get, []string{
			`f.yaml:2: unknown field "seed" in a cluster (allowed: ` + namesOfClusterFields() + `)`}},
		{"what lives in a cluster is checked", "scenario: s\nworkloads:\n  nodes: 0\n  behaviors:\n  - {image: a, crash: true}\nsteps:\n" + get, []string{
			`f.yaml:3: give at least one node`,
			`f.yaml:5: unknown field "crash" (allowed: ` + strings.Join(living.BehaviorFields(), ", ") + `)`}},
		{"a flag is true or false", "scenario: s\ncluster: {withoutNamespaceLifecycle: yes}\nsteps:\n" + get, []string{
			`f.yaml:2: withoutNamespaceLifecycle must be true or false`}},
		{"controllers are a list", "scenario: s\ncluster: {controllers: namespace-controller}\nsteps:\n" + get, []string{
			`f.yaml:2: controllers takes a list`}},
		{"controllers have names", "scenario: s\ncluster: {controllers: [1]}\nsteps:\n" + get, []string{
			`f.yaml:2: an item of controllers must be a string: put 1 in quotes`}},
		{"a step has valid fields", head + get + "  expects: 1\n", []string{
			`f.yaml:4: unknown field "expects" in a step (allowed: ` + fields + `); did you mean "expect"?`}},
		{"a step is a valid request", head + "- poke: {path: /x}\n", []string{
			`f.yaml:3: unknown field "poke" in a step (allowed: ` + fields + `)`}},
		{"a step is a request", head + "- name: nothing\n", []string{
			`f.yaml:3: a step must have one of create, get, list, watch, update, patch, apply, delete, deletecollection, scale, status, finalize, evict, absent, count, events, log, advance, settle, fault, compact, calls, webhook`}},
		{"a step is one request", head + get + "  delete: {path: /x}\n", []string{
			`f.yaml:4: a step can do only one thing, but this one has get and delete`}},
		{"a step must be a mapping", head + "- get\n", []string{
			`f.yaml:3: a step must be a mapping of field names to values`}},
		{"a field stands once", head + "- get: {path: /x}\n  get: {path: /x}\n", []string{
			`f.yaml:4: field "get" is given twice, first on line 3`}},
		{"a manifest's field stands once", head + "- create: {apiVersion: v1, kind: K, kind: L}\n", []string{
			`f.yaml:3: field "kind" is given twice, first on line 3`}},
		{"a scenario has a name", "steps:\n" + get, []string{
			`f.yaml:1: a scenario needs a name: scenario: A sentence that states the rule`}},
		{"a name is not empty", "scenario:\nsteps:\n" + get, []string{
			`f.yaml:1: scenario must not be empty`}},
		{"a scenario has steps", "scenario: s\n", []string{
			`f.yaml:1: a scenario needs steps`}},
		{"steps are a list", "scenario: s\nsteps: {}\n", []string{
			`f.yaml:2: steps takes a list`}},
		{"every document is a scenario", head + get + "---\nkind: K\n", []string{
			`f.yaml:5: unknown field "kind" in a scenario (allowed: cases, cluster, scenario, setup, steps, webhooks, workloads)`}},
		{"names differ within a file", head + get + "---\n" + head + get, []string{
			`f.yaml:5: duplicate scenario name "s", first on line 1`}},
		{"a manifest must be a mapping", head + "- create: k\n", []string{
			`f.yaml:3: a manifest must be a mapping with apiVersion and kind, or {file: PATH}`}},
		{"a manifest says what it is", head + "- create: {}\n", []string{
			`f.yaml:3: a manifest needs apiVersion`}},
		{"a manifest says which kind it is", head + "- create: {apiVersion: v1, kind: }\n", []string{
			`f.yaml:3: a manifest needs kind`}},
		{"a misspelt file is a file", head + "- create: {fil: a.yaml}\n", []string{
			`f.yaml:3: a manifest needs apiVersion; did you mean "file"?`}},
		{"a misspelt kind is a kind", head + "- create: {apiVersion: v1, Kind: Pod}\n", []string{
			`f.yaml:3: a manifest needs kind; did you mean "kind"?`}},
		{"a manifest's file exists", head + "- create: {file: none.yaml}\n", []string{
			`f.yaml:3: stat none.yaml: no such file or directory`}},
		{"a reference has valid fields", head + "- get: {apiVersion: v1, kind: K, nam: x}\n", []string{
			`f.yaml:3: unknown field "nam" in a reference (allowed: apiVersion, kind, name, namespace, path); did you mean "name"?`}},
		{"a get is of one object", head + "- get: {apiVersion: v1, kind: K}\n", []string{
			`f.yaml:3: a reference needs name`}},
		{"a list is of no one object", head + "- list: {apiVersion: v1, kind: K, name: x}\n", []string{
			`f.yaml:3: unknown field "name" in a reference (allowed: apiVersion, kind, namespace, path)`}},
		{"a path stands alone", head + "- get: {path: /x, kind: K}\n", []string{
			`f.yaml:3: path cannot be combined with other fields`}},
		{"a path is absolute", head + "- get: {path: x}\n", []string{
			`f.yaml:3: a path must begin with a slash: "x"`}},
		{"a step succeeds or fails", head + get + "  expect: {a: 1}\n  error: {code: 404}\n", []string{
			`f.yaml:5: a step cannot have both expect and error, unless error is a parameter of the case`}},
		{"an error has valid fields", head + get + "  error:\n    code: 404\n    mesage: x\n", []string{
			`f.yaml:6: unknown field "mesage" in an error (allowed: body, code, details, message, reason, status); did you mean "message"?`}},
		{"an error says which", head + get + "  error: {}\n", []string{
			`f.yaml:4: error takes a mapping that describes the error, as in {code: 404, reason: NotFound}`}},
		{"a mark is a valid one", head + get + "  expect: !some 1\n", []string{
			`f.yaml:4: unknown tag !some`}},
		{"a manifest cannot leave a value open", head + "- create: {apiVersion: v1, kind: K, x: !present }\n", []string{
			`f.yaml:3: !present is not allowed here (allowed: !absent, !cel, !from)`}},
		{"a name is not a mark", head + "- name: !absent\n  get: {path: /x}\n", []string{
			`f.yaml:3: !absent is not allowed here`}},
		{"absent takes no value", head + get + "  expect: {x: !absent 1}\n", []string{
			`f.yaml:4: !absent takes no value`}},
		{"an item of a list is not absent", head + get + "  expect: [!absent ]\n", []string{
			`f.yaml:4: !absent marks a field that does not exist, and cannot be an item of a list`}},
		{"only takes fields", head + get + "  expect: !only 1\n", []string{
			`f.yaml:4: !only takes a mapping`}},
		{"from says where", head + get + "  expect: !from\n", []string{
			`f.yaml:4: !from takes the name of an answer and a path in it, as in !from created.metadata.uid`}},
		{"from looks back, not at its own step", head + get + "  as: here\n  expect: !from here.x\n", []string{
			`f.yaml:5: no earlier answer is named "here" (as: here); the name is captured later, on line 4`}},
		{"from looks at its own scenario", head + get + "  as: there\n---\nscenario: t\nsteps:\n" + get + "  expect: !from there.x\n", []string{
			`f.yaml:9: no earlier answer is named "there" (as: there)`}},
		{"an answer's name is its own", head + get + "  as: a\n" + get + "  as: a\n", []string{
			`f.yaml:5: an earlier answer already has the name "a"`}},
		{"an answer's name is one word of a path", head + get + "  as: a.b\n", []string{
			`f.yaml:3: the name of an answer must not contain dots: "a.b"`}},
		{"a user is of one kind", head + get + "  as: {user: jane, token: t}\n", []string{
			`f.yaml:4: a user must be one of {user, groups}, {serviceAccount} and {token}`}},
		{"groups are those of a user", head + get + "  as: {groups: [dev]}\n", []string{
			`f.yaml:4: a user must be one of {user, groups}, {serviceAccount} and {token}`}},
		{"a service account has a namespace", head + get + "  as: {serviceAccount: robot}\n", []string{
			`f.yaml:4: a service account must have the form NAMESPACE/NAME, not "robot"`}},
		{"a token comes from an earlier answer", head + get + "  as: {token: !from t.status.token }\n", []string{
			`f.yaml:4: no earlier answer is named "t" (as: t)`}},
		{"a number is one in JSON", head + get + "  expect: .inf\n", []string{
			`f.yaml:4: .inf is not a number in JSON`}},
		{"only JSON's types are values", head + get + "  expect: !!binary aGk=\n", []string{
			`f.yaml:4: unknown tag !!binary`}},
		{"merge takes a mapping", head + get + "  expect: {<<: 1}\n", []string{
			`f.yaml:4: << takes a mapping`}},
		{"a value does not contain itself", head + get + "  expect: &x [*x]\n", []string{
			`f.yaml:4: *x contains itself`}},
		{"aliases do not multiply without end", head + get + "  expect: [" + billionLaughs() + "]\n", []string{
			`f.yaml:4: more than 1048576 values in one file`}},
		{"a field stands beside the requests it is for", head + get + "  to: {path: /y}\n", []string{
			`f.yaml:4: to is not allowed in a get step (allowed in: create, update, apply)`}},
		{"a patch says its type", head + "- patch: {path: /x}\n  body: {}\n", []string{
			`f.yaml:3: a patch needs type and body`}},
		{"a patch is of a valid type", head + "- patch: {path: /x}\n  type: yaml\n  body: {}\n", []string{
			`f.yaml:4: type: "yaml" is not one of json, merge, strategic`}},
		{"a watch says which events", head + "- watch: {path: /x}\n", []string{
			`f.yaml:3: a watch needs expect, with a list of events`}},
		{"options are those of the API", head + get + "  options: {dryrun: All}\n", []string{
			`f.yaml:4: unknown field "dryrun" in the options (allowed: ` + strings.Join(QueryOptions, ", ") + `); did you mean "dryRun"?`}},
		{"headers are texts", head + get + "  headers: {Accept: 1}\n", []string{
			`f.yaml:4: Accept must be a string: put 1 in quotes`}},
		{"headers are a mapping", head + get + "  headers: text\n", []string{
			`f.yaml:4: the headers must be a mapping of names to values, such as {Accept: application/json}`}},
		{"warnings are a list", head + get + "  warnings: none\n", []string{
			`f.yaml:4: warnings takes a list of texts; [] is none`}},
		{"a table is a list", head + get + "  table: {}\n", []string{
			`f.yaml:4: a table takes a list of rows, the first of them the names of the columns`}},
		{"a table is of a read", head + "- delete: {path: /x}\n  table: []\n", []string{
			`f.yaml:3: a delete step cannot have table or wide; only get and list can`}},
		{"a table is wide or not", head + get + "  table: []\n  wide: []\n", []string{
			`f.yaml:5: a step cannot have both table and wide`}},
		{"a code is one of HTTP", head + get + "  code: ok\n", []string{
			`f.yaml:4: code takes an HTTP status`}},
		{"a condition is CEL", head + get + "  that: [answer.x ==]\n", []string{
			"f.yaml:4: not CEL: answer.x ==: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"}},
		{"a condition is of answers that are there", head + get + "  as: mine\n  that: [mine.x]\n", []string{
			`f.yaml:5: not CEL: mine.x: undeclared reference to 'mine' (in container ''); the name is captured later, on line 4`}},
		{"a condition is true or false", head + get + "  that: [size(answer)]\n", []string{
			`f.yaml:4: a condition must be true or false, but size(answer) is of type int`}},
		{"a condition of the status has one of three", head + get + "  condition: Ready=true\n", []string{
			`f.yaml:4: condition takes TYPE or TYPE=STATUS, where STATUS is True, False, Unknown, and not "Ready=true"`}},
		{"an error does not have a condition", head + get + "  condition: Ready\n  error: {code: 404}\n", []string{
			`f.yaml:4: a step cannot have both condition and error`}},
		{"a list does not have a condition", head + "- list: {path: /x}\n  condition: Ready\n", []string{
			`f.yaml:4: the answer to list is not one object, so it does not have a condition; write the expectation in the field "that"`}},
		{"conditions are a list", head + get + "  that: answer.x\n", []string{
			`f.yaml:4: that takes a list`}},
		{"unordered takes a list", head + get + "  expect: !unordered {}\n", []string{
			`f.yaml:4: !unordered takes a list`}},
		{"a name that conditions use is taken", head + get + "  as: answer\n", []string{
			`f.yaml:3: "answer" is reserved: in conditions it is the answer to the same step`}},
		{"a webhook says where and what", "scenario: s\nwebhooks:\n- name: w\nsteps:\n" + get, []string{
			`f.yaml:3: a webhook needs name and service: {namespace, name}`,
			`f.yaml:3: a webhook must have exactly one of response, body and silent`}},
		{"a webhook has valid fields", hook + "  url: x\nsteps:\n" + get, []string{
			`f.yaml:6: unknown field "url" in a webhook (allowed: body, code, headers, name, response, service, silent)`}},
		{"a service has valid fields", "scenario: s\nwebhooks:\n- {name: w, service: {nam: x}}\nsteps:\n" + get, []string{
			`f.yaml:3: unknown field "nam" in a service (allowed: name, namespace, path, port); did you mean "name"?`}},
		{"a port is a number", "scenario: s\nwebhooks:\n- {name: w, body: x, service: {namespace: d, name: x, port: 0}}\nsteps:\n" + get, []string{
			`f.yaml:3: port takes a number from 1 to 65535`}},
		{"a webhook's path is absolute", "scenario: s\nwebhooks:\n- {name: w, body: x, service: {namespace: d, name: x, path: y}}\nsteps:\n" + get, []string{
			`f.yaml:3: a path must begin with a slash: "y"`}},
		{"a webhook answers in one way", hook + "  body: x\nsteps:\n" + get, []string{
			`f.yaml:3: a webhook must have exactly one of response, body and silent`}},
		{"a silent webhook says nothing", "scenario: s\nwebhooks:\n- {name: w, service: {namespace: d, name: x}, silent: hang, code: 500}\nsteps:\n" + get, []string{
			`f.yaml:3: a silent webhook cannot have code or headers`}},
		{"a webhook is silent in a valid way", "scenario: s\nwebhooks:\n- {name: w, service: {namespace: d, name: x}, silent: sleep}\nsteps:\n" + get, []string{
			`f.yaml:3: silent: "sleep" is not one of close, hang`}},
		{"a response must be a mapping", "scenario: s\nwebhooks:\n- {name: w, service: {namespace: d, name: x}, response: yes}\nsteps:\n" + get, []string{
			`f.yaml:3: response takes a mapping, or !cel and an expression that returns one`}},
		{"an expression is CEL", "scenario: s\nwebhooks:\n- {name: w, service: {namespace: d, name: x}, response: !cel answer.x }\nsteps:\n" + get, []string{
			`f.yaml:3: not CEL: answer.x: undeclared reference to 'answer' (in container '')`}},
		{"an expression is a text", "scenario: s\nwebhooks:\n- {name: w, service: {namespace: d, name: x}, response: !cel }\nsteps:\n" + get, []string{
			`f.yaml:3: !cel takes an expression, such as !cel "size(pods.items) + 1"`}},
		{"an expression is a webhook's", head + get + "  expect: !cel request.x\n", []string{
			`f.yaml:4: not CEL: request.x: undeclared reference to 'request' (in container '')`}},
		{"a webhook knows no answers", hook + "steps:\n- webhook: {name: w, body: !from w.url}\n", []string{
			`f.yaml:7: !from is not allowed here (allowed: !absent, !cel)`}},
		{"a service and path are one webhook's", hook + "- {name: v, body: x, service: {namespace: d, name: x, port: 443}}\nsteps:\n" + get, []string{
			`f.yaml:6: the webhook w has the same service, port and path`}},
		{"a webhook's name is its own", hook + "- {name: w, body: x, service: {namespace: d, name: y}}\nsteps:\n" + get, []string{
			`f.yaml:6: an earlier answer already has the name "w"`}},
		{"calls are of a webhook", head + "- calls: w\n", []string{
			`f.yaml:3: the scenario does not have a webhook named "w"`}},
		{"a webhook that changes has a name", hook + "steps:\n- webhook: {body: x}\n", []string{
			`f.yaml:7: a webhook step needs name`}},
		{"a webhook that changes answers in one way", hook + "steps:\n- webhook: {name: w}\n", []string{
			`f.yaml:7: a webhook must have exactly one of response, body and silent`}},
		{"a change of a webhook has no answer", hook + "steps:\n- webhook: {name: w, body: x}\n  expect: {a: 1}\n", []string{
			`f.yaml:7: webhook does not return an answer, so the step cannot have expectations or a name for it`}},
		{"all mistakes are reported", "scenario: s\nsetup: 1\nsteps:\n- poke: 1\n- get: {path: x}\n", []string{
			`f.yaml:2: setup takes a list`,
			`f.yaml:4: unknown field "poke" in a step (allowed: ` + fields + `)`,
			`f.yaml:5: a path must begin with a slash: "x"`}},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			var got []string
			for _, mistake := range Parse("f.yaml", []byte(test.text)).mistakes {
				got = append(got, column.ReplaceAllString(mistake.Error(), "$1: "))
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("mistakes in\n%s(-want +got):\n%s", test.text, d)
			}
		})
	}
}

// billionLaughs is lists of ten of the list before, nine deep.
func billionLaughs() string {
	text := "&a [x,x,x,x,x,x,x,x,x,x]"
	for name := 'b'; name <= 'j'; name++ {
		before := "*" + string(name-1)
		text += ",&" + string(name) + " [" + strings.Repeat(before+",", 9) + before + "]"
	}
	return text
}

// A manifest is read as JSON, with what YAML adds to that.
func TestManifestValues(t *testing.T) {
	const text = `
scenario: s
steps:
- create: &first
    apiVersion: v1
    kind: K
    spec:
      string: "1"
      int: 1
      hex: 0x10
      big: 18446744073709551616
      float: 1.5
      bool: true
      yes: yes
      none: null
      date: 2021-06-20T07:35:27Z
      list: [a, {b: c}]
      80: number
- create:
    <<: *first
    kind: L
`
	f := Parse("f.yaml", []byte(text))
	if len(f.mistakes) > 0 {
		t.Fatal(f.Err())
	}
	spec := map[string]any{
		"string": "1", "int": int64(1), "hex": int64(16), "big": 18446744073709551616.0, "float": 1.5, "bool": true,
		"yes": "yes", "none": nil, "date": "2021-06-20T07:35:27Z",
		"list": []any{"a", map[string]any{"b": "c"}}, "80": "number",
	}
	want := []map[string]any{
		{"apiVersion": "v1", "kind": "K", "spec": spec},
		{"apiVersion": "v1", "kind": "L", "spec": spec},
	}
	var got []map[string]any
	for _, step := range f.Scenarios[0].Steps {
		got = append(got, step.Argument)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("manifests (-want +got):\n%s", d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("scenario: s\nsteps:\n- get: {path: /x}\n  as: a\n- get: {path: /y}\n  expect: {x: !from a.b, y: !only {z: !absent }}\n")
	f.Add("scenario: s\nsteps:\n- list: {apiVersion: v1, kind: K}\n  options: {limit: 1}\n  table: !unordered [[A], [1]]\n  warnings: []\n  that: [answer.x == 1]\n")
	f.Add("scenario: s\nsteps:\n- patch: {path: /x}\n  type: merge\n  subresource: status\n  body: {a: null}\n- create: {file: m.yaml, set: {a.0: 1}}\n  to: {path: /x}\n  headers: {A: b}\n")
	f.Add("scenario: s\nsteps:\n- create: &a {apiVersion: v1, kind: K, <<: *a}\n")
	f.Fuzz(func(t *testing.T, text string) {
		Parse("f.yaml", []byte(text))
	})
}
