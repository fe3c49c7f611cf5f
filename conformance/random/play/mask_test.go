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
