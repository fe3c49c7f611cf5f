package play

import "testing"

func TestEntriesOfManagedFieldsInYAMLAreSorted(t *testing.T) {
	const text = "metadata:\n  managedFields:\n  - apiVersion: v1\n    manager: b\n  - apiVersion: v1\n    manager: a\n  name: x\n"
	const want = "metadata:\n  managedFields:\n  - apiVersion: v1\n    manager: a\n  - apiVersion: v1\n    manager: b\n  name: x\n"
	if got := string(inOrder([]byte(text))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMistakesOfATypedPatch(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"are sorted", `{"message":"errors:\n  .b: x \"y\"\n  .a: z"}`, `{"message":"errors:\n  .a: z\n  .b: x \"y\""}`},
		{"have maps in keys in one order", `{"message":"duplicate entries for key [name=b=\"y\"a=\"x\"]"}`, `{"message":"duplicate entries for key [===aabemnxy]"}`},
		{"have other keys as they are", `{"message":"duplicate entries for key [port=80,protocol=\"TCP\"]"}`, `{"message":"duplicate entries for key [port=80,protocol=\"TCP\"]"}`},
		{"are left out where one is an undeclared field",
			`{"message":"failed to create typed patch object (/a; v1, Kind=A): errors:\n  .b: \"x\"\n  .c: field not declared in schema\n  .d: y","code":500}`,
			`{"message":"failed to create typed patch object (/a; v1, Kind=A): …","code":500}`},
	} {
		if got := string(inOrder([]byte(c.text))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestWarningsAreSorted(t *testing.T) {
	const text = "200\nWarning: 299 - \"b\", 299 - \"a\"\n\n{}"
	const want = "200\nWarning: - \"a\", - \"b\"\n\n{}"
	if got := masked(text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFinalizersOfANamespaceInDeletionAreSorted(t *testing.T) {
	const text = `{"metadata":{"name":"n","labels":{"kubernetes.io/metadata.name":"n"},"deletionTimestamp":"T","finalizers":["orphan","example.com/a"]}}`
	const want = `{"metadata":{"name":"n","labels":{"kubernetes.io/metadata.name":"n"},"deletionTimestamp":"T","finalizers":["example.com/a","orphan"]}}`
	if got := string(inOrder([]byte(text))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWhatIsChanceIsMasked(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"the name of a random generateName", `pods "generated-b2c4d" not found`, `pods "generated-XXXXX" not found`},
		{"a generated name that begins with a time", `"name": "TIMEb2c4d"`, `"name": "TIMEXXXXX"`},
		{"a port for health checks", `"healthCheckNodePort": 31234`, `"healthCheckNodePort": PORT`},
		{"a node port that is taken", "nodePort: Duplicate value: 31135: x", "nodePort: Duplicate value: PORT: x"},
		{"a node port that two ports get", `duplicate nodePort: {TCP 30791}`, `duplicate nodePort: {TCP PORT}`},
		{"a node port that a patch has copied", `\\\"ports\\\":32452,`, `\\\"ports\\\":PORT,`},
		{"a port that nobody has chosen by chance", `\"ports\":80,`, `\"ports\":80,`},
		{"a node port in a quoted object", `\"type\":\"NodePort\",\"NodePort\":31135`, `\"type\":\"NodePort\",\"NodePort\":PORT`},
		{"a revision in a precondition", "the ResourceVersion in the precondition (12 3) does not", "the ResourceVersion in the precondition (RV) does not"},
		{"an age in a Table", `"cells": ["a", "9y12d", "8y", "\u003cinvalid\u003e"]`, `"cells": ["a", "AGE", "AGE", "AGE"]`},
		{"an age elsewhere", `"name": "9y12d"`, `"name": "9y12d"`},
		{"the audience of a token", `"audiences": ["https://kubernetes.default.svc.cluster.local"]`, `"audiences": ["AUDIENCE"]`},
		{"managedFields in a quoted object", `{\"managedFields\":[{\"manager\":\"b\"},{\"manager\":\"a\"}]}`, `{\"managedFields\":[…]}`},
		{"the token of a page in YAML", "metadata:\n  continue: abc\nitems: []", "metadata:\n  continue: CONTINUE\nitems: []"},
		{"the token of a page", " \"continue\": \"abc\",\n", " \"continue\": \"CONTINUE\",\n"},
		{"the last page", " \"continue\": \"\",\n", " \"continue\": \"\",\n"},
		{"the URL of a webhook", `Post "https://127.0.0.1:4711/real/ha1h/mutating"`, `Post "https://ADDRESSha1h/mutating"`},
		{"an address", "dial tcp 127.0.0.1:4711: refused", "dial tcp ADDRESS: refused"},
		{"a port in a cause", "    \"message\": \"Duplicate value: 31135\",\n    \"field\": \"spec.ports[1].nodePort\"", "    \"message\": \"Duplicate value: PORT\",\n    \"field\": \"spec.ports[1].nodePort\""},
		{"a port that the client has chosen", "    \"message\": \"Duplicate value: 80\",\n    \"field\": \"spec.ports[1].port\"", "    \"message\": \"Duplicate value: 80\",\n    \"field\": \"spec.ports[1].port\""},
		{"a generated name", "{\n \"generateName\": \"1\",\n \"name\": \"1b2c4d\"\n}", "{\n \"generateName\": \"1\",\n \"name\": \"1XXXXX\"\n}"},
		{"a name that only begins alike", "{\n \"generateName\": \"1\",\n \"name\": \"1b2c4d-x\"\n}", "{\n \"generateName\": \"1\",\n \"name\": \"1b2c4d-x\"\n}"},
		{"a revision in YAML", "  does not match the ResourceVersion in\n  record (5546). The", "  does not match the ResourceVersion in\n  record (RV). The"},
	} {
		if got := masked(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestThePartOfAnAnswerThatIsChanceIsLeftOut(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"the first mistake of an embedded resource", `{"message":"x cannot be handled as a Widget: spec.kind: Invalid value: \"\": must not be empty"}`, `{"message":"x cannot be handled as a Widget: …"}`},
		{"the name of a type of CEL", `{"message":"found no matching overload for '_==_' applied to '(selfType12, int)'"}`, `{"message":"found no matching overload for '_==_' applied to '(selfTypeN, int)'"}`},
		{"the order of rules", `{"kind":"SelfSubjectRulesReview","resourceRules":["b","a"],"nonResourceRules":["d","c"]}`, `{"kind":"SelfSubjectRulesReview","resourceRules":["a","b"],"nonResourceRules":["c","d"]}`},
	} {
		if got := string(inOrder([]byte(c.text))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBookmarksAreLeftOutExceptTheEndOfTheInitialEvents(t *testing.T) {
	const end = `{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
	const added = `{"type":"ADDED","object":{}}` + "\n"
	if got := string(withoutBookmarks([]byte(added + end + `{"type":"BOOKMARK","object":{}}` + "\n"))); got != added+end {
		t.Errorf("got %q", got)
	}
}
