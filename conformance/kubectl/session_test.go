package kubectl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const transcript = `Prose for the reader.
== one

# A comment.
$ kubectl get all
NAME   AGE

a      <age>

$ kubectl get none &
~ because
2> No resources found.
2>
exit 1
== two of them --legacy-apis --crds a
$ kubectl get new
~ old
?

# The end.
$ fg
`

func TestReadSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.txt")
	if err := os.WriteFile(path, []byte(transcript), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := readSession(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, section := range s.sections {
		got = append(got, "== "+section.name, strings.Join(section.flags, "|"))
		for _, step := range section.steps {
			got = append(got, step.command, step.want.elsewhere, step.want.String())
		}
	}
	want := []string{
		"== one", "",
		"kubectl get all", "", "NAME   AGE\n\na      <age>\n",
		"kubectl get none &", "because", "2> No resources found.\n2>\nexit 1\n",
		"== two of them", "--legacy-apis|--crds|a",
		"kubectl get new", "old", "",
		"fg", "", "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFillWritesTheUnknownOutcomesAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.txt")
	if err := os.WriteFile(path, []byte(transcript), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := readSession(path)
	if err != nil {
		t.Fatal(err)
	}
	got := map[*step]outcome{}
	for _, section := range s.sections {
		for _, step := range section.steps {
			got[step] = outcome{stdout: []string{"something else"}}
		}
	}
	if err := s.fill(path, got); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "== two of them --legacy-apis --crds a\n$ kubectl get new\n~ old\nsomething else\n\n# The end.\n$ fg\n"
	if diff := cmp.Diff(transcript[:len(transcript)-len("== two of them --legacy-apis --crds a\n$ kubectl get new\n~ old\n?\n\n# The end.\n$ fg\n")]+want, string(content)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestMask(t *testing.T) {
	for said, want := range map[string]string{
		"NAME   AGE\na      12s\n":    "NAME   AGE\na      <age>",
		"a   1m2s   gold\n":           "a   <age>   gold",
		"a   1s     gold\n":           "a   <age>   gold",
		"https://127.0.0.1:4567/apis": "https://127.0.0.1:<port>/apis",
		`  resourceVersion: "12"`:     `  resourceVersion: "<n>"`,
		`I1123 14:38:19.614319   15009 reflector.go:664] "Warning: watch ended with error" type="/v1, Kind=ConfigMap" err="unable to decode an event from the watch stream: context canceled"` + "\nError: late\n": "Error: late",
		`I1123 14:38:19.614319   15009 reflector.go:664] "Warning: watch ended with error" err="unexpected EOF"` + "\n":                                                                                            `I1123 14:38:19.614319   15009 reflector.go:664] "Warning: watch ended with error" err="unexpected EOF"`,
		"--- /tmp/LIVE-123/g.v1.Kind.ns.a\t2026-01-02 03:04:05.678 +0000":                                                                                                                                          "--- <folder>/LIVE/g.v1.Kind.ns.a\t<time>",
	} {
		got := mask(said)
		if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%q (-want +got)\n%s", said, diff)
		}
	}
}
