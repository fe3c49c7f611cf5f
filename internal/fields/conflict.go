package fields

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conflict is what a manager owns that somebody else applies otherwise.
type conflict struct {
	owner  *entry
	fields *Set
}

// refusal is the error of an apply that is refused for conflicts, by the identifiers
// of the owners. (Upstream's causes come in no order.) Read says that the owners were
// read from managedFields.
func refusal(conflicts []conflict, read bool) error {
	slices.SortFunc(conflicts, func(a, b conflict) int { return strings.Compare(a.owner.identifier(), b.owner.identifier()) })
	var causes []metav1.StatusCause
	var message []string
	for _, c := range conflicts {
		owner := c.owner.String()
		message = append(message, fmt.Sprintf("conflicts with %s:", owner))
		c.fields.each(nil, func(path []element) {
			field := pathString(path, read)
			causes = append(causes, metav1.StatusCause{
				Type: metav1.CauseTypeFieldManagerConflict, Message: "conflict with " + owner, Field: field,
			})
			message = append(message, "- "+field)
		})
	}
	if len(causes) == 1 {
		return apierrors.NewApplyConflict(causes, fmt.Sprintf("Apply failed with 1 conflict: %s: %s", causes[0].Message, causes[0].Field))
	}
	return apierrors.NewApplyConflict(causes, fmt.Sprintf("Apply failed with %d conflicts: %s", len(causes), strings.Join(message, "\n")))
}

func pathString(path []element, read bool) string {
	var b strings.Builder
	for _, e := range path {
		b.WriteString(e.show(read))
	}
	return b.String()
}

// String is the owner as messages of conflicts show it.
func (e *entry) String() string {
	s := fmt.Sprintf("%q", e.manager)
	if e.subresource != "" {
		s += fmt.Sprintf(" with subresource %q", e.subresource)
	}
	if e.operation == Update {
		s += " using " + e.apiVersion
	}
	return s
}

// identifier is what upstream tells owners apart by, and orders them.
func (e *entry) identifier() string {
	owner := metav1.ManagedFieldsEntry{
		Manager: e.manager, Operation: metav1.ManagedFieldsOperationType(e.operation), APIVersion: e.apiVersion, Subresource: e.subresource,
	}
	if e.operation == Apply {
		owner.APIVersion = ""
	}
	text, err := json.Marshal(&owner)
	if err != nil {
		return ""
	}
	return string(text)
}
