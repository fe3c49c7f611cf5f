package write

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/warning"
)

// reportsStrictErrors reports whether a fieldValidation directive reports unknown and duplicate fields, as a warning or
// an error.
func reportsStrictErrors(validation string) bool {
	return validation != metav1.FieldValidationIgnore
}

// rejectsStrictErrors reports whether a fieldValidation directive rejects them.
func rejectsStrictErrors(validation string) bool {
	return validation == metav1.FieldValidationStrict
}

// warnStrictErrors adds a warning for each error of a strict decoder.
func warnStrictErrors(ctx context.Context, complaint error) {
	for _, text := range splitYAMLErrors(complaint.Error()) {
		warning.AddWarning(ctx, "", text)
	}
}

// splitYAMLErrors splits an error of the YAML decoder into its parts.
func splitYAMLErrors(text string) []string {
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
