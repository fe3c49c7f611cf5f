package generate

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// values returns values for a property, the most ordinary first. like is the present value; nil: there is none. It may be among
// the values.
func values(name string, s *apiextensionsv1.JSONSchemaProps, like any) (found []any) {
	switch {
	case len(s.Enum) > 0:
		for _, e := range s.Enum {
			found = append(found, decoded(e))
		}
		return other(found, like)
	case s.XIntOrString:
		return other(append(quantities(s, like), int64(1), "25%"), like)
	}
	switch s.Type {
	case "boolean":
		found = []any{true, false}
	case "integer":
		found = integers(s, like)
	case "number":
		found = []any{float64(1), 0.5, float64(0)}
	case "string":
		found = texts(name, s, like)
	case "array":
		found = append(lists(name, s), []any{})
	case "object":
		found = objects(s)
	}
	if s.Default != nil {
		found = append(found, decoded(*s.Default))
	}
	return other(found, like)
}

// other drops the present value and values that come twice.
func other(found []any, like any) (kept []any) {
	seen := map[string]bool{}
	if like != nil {
		seen[jsonOf(like)] = true
	}
	for _, v := range found {
		if text := jsonOf(v); !seen[text] {
			seen[text] = true
			kept = append(kept, v)
		}
	}
	return kept
}

func decoded(raw apiextensionsv1.JSON) any {
	d := json.NewDecoder(strings.NewReader(string(raw.Raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil
	}
	return numbers(v)
}

// integers returns the neighbors of the present value, zero, and the bounds.
func integers(s *apiextensionsv1.JSONSchemaProps, like any) (found []any) {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if s.Format == "int32" {
		low, high = math.MinInt32, math.MaxInt32
	}
	if s.Minimum != nil {
		low = max(low, int64(*s.Minimum))
		if s.ExclusiveMinimum {
			low++
		}
	}
	bounded := s.Maximum != nil
	if bounded {
		high = min(high, int64(*s.Maximum))
		if s.ExclusiveMaximum {
			high--
		}
	}
	step := int64(1)
	if s.MultipleOf != nil && *s.MultipleOf >= 1 {
		step = int64(*s.MultipleOf)
	}
	n, _ := like.(int64)
	candidates := []int64{n + step, n + 3*step, n - step, 2 * n, 0, step}
	if s.Minimum != nil {
		candidates = append(candidates, low)
	}
	if bounded {
		candidates = append(candidates, high)
	}
	for _, c := range candidates {
		if c >= low && c <= high && (s.Minimum != nil || c >= 0) {
			found = append(found, c)
		}
	}
	return found
}

// quantities returns quantities if the pattern is that of one.
func quantities(s *apiextensionsv1.JSONSchemaProps, like any) []any {
	if strings.Contains(s.Pattern, "KMGTPE") {
		return append(quantitiesLike(like), "2", "500m", "1Gi")
	}
	return nil
}

// formats are values for formats.
var formats = map[string][]any{
	"date":      {"2030-01-02"},
	"date-time": {"2030-01-02T03:04:05Z", "2030-01-31T23:30:00-05:00"},
	"duration":  {"1h0m0s", "30s"},
	"email":     {"explorer@example.com"},
	"hostname":  {"explored.example.com"},
	"ipv4":      {"192.0.2.7"},
	"ipv6":      {"2001:db8::7"},
	"cidr":      {"192.0.2.0/24"},
	"uri":       {"https://explored.example.com/path"},
	"uuid":      {"123e4567-e89b-12d3-a456-426614174000"},
	"byte":      {"ZXhwbG9yZWQ=", ""},
	"password":  {"explored"},
}

// named are values for fields whose names end in a word, without regard to case.
var named = []struct {
	name   *regexp.Regexp
	values []any
}{
	{regexp.MustCompile(`(?i)image$`), []any{"registry.example.com/explored:2.0", "registry.example.com/explored", "registry.example.com/explored@sha256:" + strings.Repeat("0123456789abcdef", 4)}},
	{durationName, []any{"1h0m0s", "30s"}},
	{regexp.MustCompile(`(?i)(url|uri|endpoint)$`), []any{"https://explored.example.com/path"}},
	{regexp.MustCompile(`(?i)(host|hostname|domain|fqdn)$`), []any{"explored.example.com"}},
	{regexp.MustCompile(`(?i)(schedule|cron)$`), []any{"*/5 * * * *", "0 3 31 * *", "CRON_TZ=Europe/Berlin 30 2 * * *"}},
	{regexp.MustCompile(`(?i)timezone$`), []any{"Europe/Berlin", "Etc/UTC"}},
	{regexp.MustCompile(`(?i)email$`), []any{"explorer@example.com"}},
	{regexp.MustCompile(`(?i)(version|tag)$`), []any{"2.0.0"}},
	{regexp.MustCompile(`(?i)(size|storage|memory)$`), []any{"2Gi"}},
	{regexp.MustCompile(`(?i)cpu$`), []any{"500m"}},
	{regexp.MustCompile(`(?i)namespace$`), []any{"default"}},
	{regexp.MustCompile(`(?i)policy$|mode$|type$|kind$|class$`), nil}, // words that are not in the schema are mistakes of the user
}

// texts returns strings: of the format, of what the name means, from the pattern, or words, and within the bounds of the length.
func texts(name string, s *apiextensionsv1.JSONSchemaProps, like any) (found []any) {
	ordinary := []any{"explored", "explored-again"}
	for _, n := range named {
		if n.name.MatchString(name) {
			ordinary = n.values
			break
		}
	}
	if known, ok := formats[s.Format]; ok {
		ordinary = known
	}
	switch {
	case quantityName.MatchString(name):
		found = quantitiesLike(like)
	case durationName.MatchString(name) || s.Format == "duration":
		found = durationsLike(like)
	}
	found = append(found, ordinary...)
	if s.Pattern != "" {
		if pattern, err := regexp.Compile(s.Pattern); err == nil {
			found = slices.DeleteFunc(found, func(v any) bool { return !pattern.MatchString(v.(string)) })
		}
		found = append(found, matching(s.Pattern)...)
	} else if s.Format == "" {
		if text, ok := like.(string); ok && text != "" && len(ordinary) > 0 {
			found = append(found, text+"2")
		}
		if s.MinLength == nil || *s.MinLength == 0 {
			found = append(found, "")
		}
		if s.MaxLength != nil && *s.MaxLength <= 253 && *s.MaxLength > 0 && len(ordinary) > 0 {
			found = append(found, strings.Repeat("x", int(*s.MaxLength)))
		}
	}
	return slices.DeleteFunc(found, func(v any) bool {
		length := int64(len(v.(string)))
		return s.MinLength != nil && length < *s.MinLength || s.MaxLength != nil && length > *s.MaxLength
	})
}

// lists returns a list with one item, if its items have values.
func lists(name string, s *apiextensionsv1.JSONSchemaProps) []any {
	if s.Items == nil || s.Items.Schema == nil {
		return nil
	}
	items := values(strings.TrimSuffix(name, "s"), s.Items.Schema, nil)
	if len(items) == 0 {
		return nil
	}
	n := 1
	if s.MinItems != nil {
		n = max(n, min(int(*s.MinItems), len(items)))
	}
	return []any{slices.Clone(items[:n])}
}

// objects returns an object with the fields that are required, and one with those that have ordinary values.
func objects(s *apiextensionsv1.JSONSchemaProps) []any {
	least, more := Minimal(s), map[string]any{}
	for name, property := range s.Properties {
		if v, ok := least[name]; ok {
			more[name] = v
		} else if property.Type != "object" && property.Type != "array" {
			if found := values(name, &property, nil); len(found) > 0 {
				more[name] = found[0]
			}
		}
	}
	if additional := s.AdditionalProperties; additional != nil && additional.Schema != nil {
		if found := values("key", additional.Schema, nil); len(found) > 0 {
			more["explored"] = found[0]
		}
	}
	return []any{least, more}
}

// Minimal returns an object with the fields that a schema requires, except for metadata.
func Minimal(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	object := map[string]any{}
	for _, name := range s.Required {
		property, ok := s.Properties[name]
		if !ok || name == "metadata" {
			continue
		}
		if property.Default != nil {
			continue
		}
		if property.Type == "object" && !property.XIntOrString {
			object[name] = Minimal(&property)
		} else if found := values(name, &property, nil); len(found) > 0 {
			object[name] = found[0]
		}
	}
	return object
}
