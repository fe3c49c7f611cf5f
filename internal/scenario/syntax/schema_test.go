package syntax

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// The schema has the fields that the parser accepts, no more and no less.
func TestTheSchemaHasTheFieldsOfTheParser(t *testing.T) {
	var schema struct {
		Definitions map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	// The mistake about an unknown field lists the allowed ones.
	allowed := func(text string) []string {
		p := NewParser("f.yaml")
		for _, root := range p.Documents([]byte(text)) {
			p.scenario(root)
		}
		return fieldsIn(p.mistakes)
	}
	for definition, text := range map[string]string{
		"scenario":      "x: 1\n",
		"cluster":       "cluster: {x: 1}\n",
		"webhook":       "webhooks: [{x: 1}]\n",
		"service":       "webhooks: [{service: {x: 1}}]\n",
		"step":          "steps: [{x: 1}]\n",
		"user":          "steps: [{as: {x: 1}}]\n",
		"use":           "setup: [{use: a, x: 1}]\n",
		"kustomization": "setup: [{kustomize: a, x: 1}]\n",
	} {
		if d := cmp.Diff(allowed(text), slices.Sorted(maps.Keys(schema.Definitions[definition].Properties))); d != "" {
			t.Errorf("%s (-parser +schema):\n%s", definition, d)
		}
	}
	for _, v := range verbs {
		fields := schema.Definitions["step"].Properties[v.Name].(map[string]any)["properties"]
		if fields == nil {
			continue
		}
		p := NewParser("f.yaml")
		var node yaml.Node
		if err := yaml.Unmarshal([]byte("{x: 1}"), &node); err != nil {
			t.Fatal(err)
		}
		v.argument.parse(p, node.Content[0])
		if d := cmp.Diff(fieldsIn(p.mistakes), slices.Sorted(maps.Keys(fields.(map[string]any)))); d != "" {
			t.Errorf("%s (-parser +schema):\n%s", v.Name, d)
		}
	}
}

// fieldsIn are the fields that the first mistake about an unknown one names.
func fieldsIn(mistakes []error) []string {
	for _, mistake := range mistakes {
		if m := regexp.MustCompile(`unknown field "x" in .* \(allowed: ([^)]*)\)`).FindStringSubmatch(mistake.Error()); m != nil {
			return strings.Split(m[1], ", ")
		}
	}
	return nil
}
