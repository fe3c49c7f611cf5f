package scenarios

import (
	"bytes"
	"encoding/json"
	"go/doc/comment"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// published compares a file of the repository with what the code makes.
func published(t *testing.T, path string, want []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-code +file); if the code is right, run with -update:\n%s", path, d)
	}
}

func TestTheSchemaIsPublished(t *testing.T) { published(t, "scenario.schema.json", Schema()) }

// The page is the package comment, for people who read on the web.
func TestTheManualIsPublished(t *testing.T) {
	var parser comment.Parser
	printer := comment.Printer{HeadingLevel: 2, HeadingID: func(*comment.Heading) string { return "" }, DocLinkBaseURL: "https://pkg.go.dev"}
	page := bytes.NewBufferString("# Scenario files\n\n<!-- Written by go test ./scenarios -run TheManualIsPublished -update. -->\n\n")
	page.Write(printer.Markdown(parser.Parse(manualText(t))))
	published(t, "../docs/scenario-language.md", page.Bytes())
}

// The schema knows the fields that the parser knows, no more and no less.
func TestTheSchemaHasTheFieldsOfTheParser(t *testing.T) {
	var schema struct {
		Definitions map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	// Of an unknown field the parser says which it knows.
	known := func(text string) []string {
		p := newParser("f.yaml")
		for _, root := range p.documents([]byte(text)) {
			p.scenario(root)
		}
		return fieldsIn(p.mistakes)
	}
	for definition, text := range map[string]string{
		"scenario": "x: 1\n",
		"cluster":  "cluster: {x: 1}\n",
		"webhook":  "webhooks: [{x: 1}]\n",
		"service":  "webhooks: [{service: {x: 1}}]\n",
		"step":     "steps: [{x: 1}]\n",
		"user":     "steps: [{as: {x: 1}}]\n",
		"use":      "setup: [{use: a, x: 1}]\n",
	} {
		if d := cmp.Diff(known(text), slices.Sorted(maps.Keys(schema.Definitions[definition].Properties))); d != "" {
			t.Errorf("%s (-parser +schema):\n%s", definition, d)
		}
	}
	for _, v := range verbs {
		fields := schema.Definitions["step"].Properties[v.name].(map[string]any)["properties"]
		if fields == nil {
			continue
		}
		p := newParser("f.yaml")
		var node yaml.Node
		if err := yaml.Unmarshal([]byte("{x: 1}"), &node); err != nil {
			t.Fatal(err)
		}
		v.argument.parse(p, node.Content[0])
		if d := cmp.Diff(fieldsIn(p.mistakes), slices.Sorted(maps.Keys(fields.(map[string]any)))); d != "" {
			t.Errorf("%s (-parser +schema):\n%s", v.name, d)
		}
	}
}

// fieldsIn are the fields that the first mistake about an unknown one names.
func fieldsIn(mistakes []error) []string {
	for _, mistake := range mistakes {
		if m := regexp.MustCompile(`unknown field "x" in .* \(known: ([^)]*)\)`).FindStringSubmatch(mistake.Error()); m != nil {
			return strings.Split(m[1], ", ")
		}
	}
	return nil
}
