package fields

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conflict has the fields of an owner that an apply would change.
type conflict struct {
	owner  *entry
	fields *Set
}

// refusal returns the error of an apply with conflicts, sorted by the identifiers of the owners. (Upstream's causes are
// not sorted.) read is set if the owners were parsed from managedFields.
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

// String formats the owner as in the messages of conflicts.
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

// identifier returns the text by which upstream identifies and sorts owners.
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
