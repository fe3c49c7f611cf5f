package write

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/warning"
)

// asksForComplaints tells whether a fieldValidation directive wants to know of
// unknown and duplicate fields.
func asksForComplaints(validation string) bool {
	return validation != metav1.FieldValidationIgnore
}

// refusesComplaints tells whether it refuses them.
func refusesComplaints(validation string) bool {
	return validation == metav1.FieldValidationStrict
}

// WarnOf warns of what a strict decoder has found.
func WarnOf(ctx context.Context, complaint error) {
	for _, text := range splitYAMLComplaints(complaint.Error()) {
		warning.AddWarning(ctx, "", text)
	}
}

// splitYAMLComplaints takes apart what the YAML decoder says in one error.
func splitYAMLComplaints(text string) []string {
	const short = "yaml: unmarshal errors:\n"
	rest, found := strings.CutPrefix(text, "error converting YAML to JSON: "+short)
	if !found {
		rest, found = strings.CutPrefix(text, short)
	}
	if !found {
		return []string{text}
	}
	lines := strings.Split(rest, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}
