// Package statuscondition checks the conditions in the status of an object, as kubectl wait does.
package statuscondition

import (
	"fmt"
	"slices"
	"strings"
)

// Unmet returns the reason why a condition of an object does not have a status, or "" if it does. A condition for an
// older generation does not count; its generation is the observedGeneration of the condition, or else of the status.
func Unmet(object map[string]any, conditionType, status string) string {
	conditions, _ := field(object, "status")["conditions"].([]any)
	var types []string
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		name, _ := condition["type"].(string)
		if name != conditionType {
			types = append(types, name)
			continue
		}
		value, _ := condition["status"].(string)
		if value != status {
			return fmt.Sprintf("the condition %s is %s, not %s%s", conditionType, orUnset(value), status, because(condition))
		}
		observed, has := condition["observedGeneration"].(int64)
		if !has {
			observed, has = field(object, "status")["observedGeneration"].(int64)
		}
		if generation, _ := field(object, "metadata")["generation"].(int64); has && observed < generation {
			return fmt.Sprintf("the condition %s is %s for generation %d, but the object has generation %d", conditionType, status, observed, generation)
		}
		return ""
	}
	if len(types) == 0 {
		return fmt.Sprintf("the object does not have the condition %s, or any other", conditionType)
	}
	slices.Sort(types)
	return fmt.Sprintf("the object does not have the condition %s, only %s", conditionType, strings.Join(types, ", "))
}

func field(object map[string]any, name string) map[string]any {
	value, _ := object[name].(map[string]any)
	return value
}

func orUnset(status string) string {
	if status == "" {
		return "without a status"
	}
	return status
}

// because returns the reason and the message of a condition, as far as it has them.
func because(condition map[string]any) string {
	var parts []string
	for _, name := range []string{"reason", "message"} {
		if text, _ := condition[name].(string); text != "" {
			parts = append(parts, text)
		}
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ": ") + ")"
}
