package player

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// writeFiles writes files and returns the folder of them.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestSharedSetups(t *testing.T) {
	const shared = "parameters: {name: !present , image: nginx}\nsetup:\n" +
		"- {apiVersion: v1, kind: ConfigMap, metadata: {name: !from with.name }, data: {image: !from with.image , name: !cel \"with.name + '!'\" }}\n"
	tests := []struct {
		rule, setup string
		want        string // a mistake; empty: none
	}{
		{"a default counts if nothing is given", "- {use: shared.yaml, with: {name: a}}\n", ""},
		{"it is used twice", "- {use: shared.yaml, with: {name: a}}\n- {use: shared.yaml, with: {name: b, image: x}}\n", ""},
		{"a parameter that has to be given", "- {use: shared.yaml}\n", `4:3: FOLDER/shared.yaml needs the parameter "name"`},
		{"a parameter that there is not", "- {use: shared.yaml, with: {name: a, imag: x}}\n", `4:28: FOLDER/shared.yaml does not have the parameter "imag"; did you mean "image"?`},
		{"a file that is not there", "- {use: none.yaml}\n", `4:3: open FOLDER/none.yaml: no such file or directory`},
		{"a file that is not a setup", "- {use: manifest.yaml}\n", `4:3: FOLDER/manifest.yaml is not a shared setup, which is one document with setup and, optionally, parameters; to create the manifests in it, write {file: manifest.yaml}`},
		{"one that uses itself", "- {use: loop.yaml}\n", `1:9: FOLDER/loop.yaml uses itself`},
		{"one that refers to what it has not", "- {use: broken.yaml}\n", `1:50: the shared setup FOLDER/broken.yaml does not have the parameter "x"`},
		{"one that refers to the scenario", "- {use: outside.yaml}\n", `1:50: no earlier answer is named "made" (as: made)`},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			folder := writeFiles(t, map[string]string{
				"shared.yaml": shared, "manifest.yaml": "apiVersion: v1\nkind: K\n", "loop.yaml": "setup: [{use: loop.yaml}]\n",
				"broken.yaml":  "setup: [{apiVersion: v1, kind: ConfigMap, data: [!from with.x ]}]\n",
				"outside.yaml": "setup: [{apiVersion: v1, kind: ConfigMap, data: [!from made.x ]}]\n",
				"s.yaml":       "scenario: s\nsetup:\n- {apiVersion: v1, kind: Namespace, metadata: {name: n}}\n" + test.setup + "steps:\n- list: {apiVersion: v1, kind: ConfigMap}\n  as: made\n",
			})
			loaded, err := syntax.Load(filepath.Join(folder, "s.yaml"))
			if err != nil {
				if got := strings.ReplaceAll(err.Error(), folder, "FOLDER"); test.want == "" || !strings.Contains(got, ":"+test.want) {
					t.Errorf("mistakes: %s, want %s", got, test.want)
				}
				return
			}
			if test.want != "" {
				t.Fatalf("no mistake, want %s", test.want)
			}
			if result := Play(t.Context(), loaded[0], InProcess); result.Failure != nil {
				t.Error(result.Failure)
			}
		})
	}
}
