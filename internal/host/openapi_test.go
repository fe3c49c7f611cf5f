package host_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/host"
)

var update = flag.Bool("update", false, "write docs/host.openapi.json")

const documentFile = "../../docs/host.openapi.json"

// The document in docs is that of the code.
func TestTheCheckedInDocumentIsThatOfTheCode(t *testing.T) {
	if *update {
		if err := os.WriteFile(documentFile, host.Document(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(host.Document()) {
		t.Error("docs/host.openapi.json is not that of the code: go test ./internal/host -run CheckedInDocument -update writes it")
	}
}

// document is the part of OpenAPI that the test reads.
type document struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Description string `json:"description"`
		Parameters  []struct{ Name, In, Description string }
	}
	Components struct {
		Schemas map[string]struct {
			Properties map[string]struct{ Description string }
		}
	}
}

// Each operation, each of its parameters and each field of the control API's own types has a description, and each
// reference leads somewhere.
func TestTheDocumentIsComplete(t *testing.T) {
	var d document
	if err := json.Unmarshal(host.Document(), &d); err != nil {
		t.Fatal(err)
	}
	operations, ids := 0, map[string]bool{}
	for path, methods := range d.Paths {
		for method, o := range methods {
			operations++
			if o.Description == "" || o.OperationID == "" || ids[o.OperationID] {
				t.Errorf("%s %s: the operation %q has no description, no name, or one that another operation has", method, path, o.OperationID)
			}
			ids[o.OperationID] = true
			for _, p := range o.Parameters {
				if p.In == "query" && p.Description == "" {
					t.Errorf("%s %s: the parameter %s has no description", method, path, p.Name)
				}
				if p.In == "path" && !strings.Contains(path, "{"+p.Name+"}") {
					t.Errorf("%s %s: the path does not have the parameter %s", method, path, p.Name)
				}
			}
		}
	}
	if want := len(host.Routes()); operations != want {
		t.Errorf("the document has %d operations, and the code %d", operations, want)
	}
	for name, s := range d.Components.Schemas {
		if strings.Contains(name, ".") {
			continue // of package inspect, which describes it
		}
		for field, p := range s.Properties {
			if _, own := ownFields[name]; p.Description == "" && !own {
				t.Errorf("the field %s of %s has no description", field, name)
			}
		}
	}
	for _, ref := range regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllStringSubmatch(string(host.Document()), -1) {
		if _, ok := d.Components.Schemas[ref[1]]; !ok {
			t.Errorf("there is no schema %s", ref[1])
		}
	}
}

// ownFields are the types that embed one of package inspect, whose fields that describes.
var ownFields = map[string]struct{}{"Request": {}, "Revision": {}, "Counted": {}, "Findings": {}, "Explanation": {}}

// docs/remote.md has a row for each field of the request to start a cluster, in the words of the document.
func TestTheDocumentationListsEachOption(t *testing.T) {
	var d document
	if err := json.Unmarshal(host.Document(), &d); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/remote.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range d.Components.Schemas["Start"].Properties {
		if row := "\n| `" + name + "` | " + p.Description + " |\n"; !strings.Contains(string(text), row) {
			t.Errorf("docs/remote.md does not have the row%s", row)
		}
	}
}

// docs/remote.md has a row for each operation.
func TestTheDocumentationListsEachOperation(t *testing.T) {
	text, err := os.ReadFile("../../docs/remote.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z]+) (/v1/[^`]*)` \\|").FindAllStringSubmatch(string(text), -1) {
		rows[row[1]+" "+row[2]] = true
	}
	for _, route := range host.Routes() {
		if !rows[route] {
			t.Errorf("docs/remote.md has no row for %s", route)
		}
		delete(rows, route)
	}
	for row := range rows {
		t.Errorf("docs/remote.md has a row for %s, which does not exist", row)
	}
}
