package workloads_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestTheDocumentationListsEveryFieldOfBehaviors compares the tables of docs/workloads.md with the code.
func TestTheDocumentationListsEveryFieldOfBehaviors(t *testing.T) {
	text, err := os.ReadFile("../docs/workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## As data\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `") {
			for i, name := range strings.Split(strings.Split(line, "|")[1], "`") {
				if i%2 == 1 {
					listed = append(listed, name)
				}
			}
		}
	}
	var fields []string
	for field := range reflect.TypeFor[workloads.Behavior]().Fields() {
		name := strings.ToLower(field.Name[:1]) + field.Name[1:]
		if field.Name == "OOMKilled" {
			name = "oomKilled"
		}
		fields = append(fields, name)
	}
	slices.Sort(listed)
	slices.Sort(fields)
	if !slices.Equal(listed, fields) {
		t.Errorf("docs/workloads.md lists %v, want %v", listed, fields)
	}
	for _, name := range fields {
		err := json.Unmarshal([]byte(`{"`+name+`":[[]]}`), new(workloads.Behavior))
		if err == nil || strings.Contains(err.Error(), "unknown field") {
			t.Errorf("the field %s does not exist in data: %v", name, err)
		}
	}
}
