package write

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/warning"
)

// asksForComplaints reports whether a fieldValidation directive asks for unknown and
// duplicate fields to be reported.
func asksForComplaints(validation string) bool {
	return validation != metav1.FieldValidationIgnore
}

// refusesComplaints reports whether it asks for them to be refused.
func refusesComplaints(validation string) bool {
	return validation == metav1.FieldValidationStrict
}

// WarnOf warns of what a strict decoder has found.
func WarnOf(ctx context.Context, complaint error) {
	for _, text := range splitYAMLComplaints(complaint.Error()) {
		warning.AddWarning(ctx, "", text)
	}
}

// splitYAMLComplaints splits an error of the YAML decoder into its parts.
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
