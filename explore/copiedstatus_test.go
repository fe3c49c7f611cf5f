package explore

import "testing"

// A status that an operator writes comes from a template if it has all that the template has. Another field with the name status says nothing.
func TestAStatusComesFromATemplate(t *testing.T) {
	written := map[string]any{"phase": "Ready", "replicas": int64(0)}
	for name, tt := range map[string]struct {
		spec any
		want bool
	}{
		"of a template":     {map[string]any{"templates": []any{map[string]any{"status": map[string]any{"phase": "Ready"}}}}, true},
		"another one":       {map[string]any{"template": map[string]any{"status": map[string]any{"phase": "Failed"}}}, false},
		"an empty one":      {map[string]any{"template": map[string]any{"status": map[string]any{"phase": ""}}}, false},
		"a switch":          {map[string]any{"status": "Ready"}, false},
		"a list of texts":   {map[string]any{"status": []any{"Ready"}}, false},
		"there is no field": {map[string]any{"phase": "Ready"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hasStatus(tt.spec, written); got != tt.want {
				t.Errorf("%t, want %t", got, tt.want)
			}
		})
	}
}
