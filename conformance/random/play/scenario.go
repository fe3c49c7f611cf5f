package play

import (
	"encoding/json"
	"fmt"
	"strings"
)

// scenarioTypes are the names that the language of scenarios has for types of patches.
var scenarioTypes = map[string]string{JSONPatch: "json", MergePatch: "merge", StrategicPatch: "strategic"}

// Scenario returns the step in the language of scenario files.
func (s Step) Scenario() string {
	target := func() string { return fmt.Sprintf("{path: %s}", quoted(s.Path)) }
	var lines []string
	switch s.Method {
	case "POST":
		lines = []string{"create: " + yamlValue(s.Body), "to: " + target()}
	case "PUT":
		lines = []string{"update: " + yamlValue(s.Body), "to: " + target()}
	case "PATCH":
		if s.Type == ApplyPatch {
			lines = []string{"apply: " + yamlValue(s.Body), "to: " + target()}
			break
		}
		lines = []string{"patch: " + target(), "type: " + scenarioTypes[s.Type], "body: " + quoted(s.Body)}
	default:
		lines = []string{strings.ToLower(s.Method) + ": " + target()}
		if s.Body != "" {
			lines = append(lines, "body: "+quoted(s.Body))
		}
	}
	return "- " + strings.Join(lines, "\n  ")
}

// yamlValue returns a body as a value in YAML, which JSON is; what is not JSON is sent as it is.
func yamlValue(body string) string {
	if json.Valid([]byte(body)) && !strings.Contains(body, "${") {
		return body
	}
	return quoted(body)
}

func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return string(b)
}
