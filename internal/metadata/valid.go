package metadata

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/json"
)

// IsValid reports whether the metadata of an object is valid as an update of the old
// metadata, which is nil for a new object. It returns true for the metadata of nearly all
// objects, and false where only upstream can decide.
func IsValid(current, former map[string]any, namespaced bool) bool {
	for key, value := range current {
		ok := false
		switch key {
		case "managedFields":
			ok = areValidManagers(value)
		case "resourceVersion": // the server's own, unless admission has set it to a value of another type
			ok = isString(value)
		case "generation":
			_, ok = value.(int64)
		case "name":
			ok = isValid(value, IsSubdomain, former, key)
		case "namespace":
			ok = namespaced && isValid(value, IsLabel, former, key)
		case "uid":
			ok = isString(value) && (former == nil || value == former[key])
		case "creationTimestamp":
			ok = isTime(value) && (former == nil || value == former[key])
		case "labels":
			ok = json.Equal(value, former[key]) || AreValidLabels(value)
		case "annotations":
			ok = json.Equal(value, former[key]) || AreValidAnnotations(value)
		case "finalizers":
			ok = json.Equal(value, former[key]) || former["deletionTimestamp"] == nil && areValidFinalizers(value) || isPartOf(value, former[key])
		case "ownerReferences":
			ok = json.Equal(value, former[key]) || areValidOwners(value)
		default:
			ok = former != nil && json.Equal(value, former[key])
		}
		if !ok {
			return false
		}
	}
	// An update must keep these fields.
	for key := range former {
		switch key {
		case "labels", "annotations", "managedFields", "generation", "finalizers", "ownerReferences":
		default:
			if _, ok := current[key]; !ok {
				return false
			}
		}
	}
	return current["name"] != nil && (current["namespace"] != nil) == namespaced
}

// isValid reports whether a name is valid and, in an update, unchanged.
func isValid(value any, check func(string) bool, former map[string]any, key string) bool {
	if former != nil {
		return value == former[key]
	}
	name, ok := value.(string)
	return ok && check(name)
}

// AreValidLabels reports whether a value is a map of valid labels.
func AreValidLabels(value any) bool {
	labels, ok := value.(map[string]any)
	for key, v := range labels {
		text, isText := v.(string)
		ok = ok && isText && isQualifiedName(key) && isLabelValue(text)
	}
	return ok
}

// AreValidAnnotations reports whether a value is a map of valid annotations.
func AreValidAnnotations(value any) bool {
	const limit = 256 << 10 // of all together
	annotations, ok := value.(map[string]any)
	size := 0
	for key, v := range annotations {
		text, isText := v.(string)
		size += len(key) + len(text)
		ok = ok && isText && isQualifiedName(strings.ToLower(key))
	}
	return ok && size <= limit
}

// areValidManagers reports whether validation accepts managedFields.
func areValidManagers(value any) bool {
	return isList(value, func(entry any) bool {
		m, ok := entry.(map[string]any)
		operation, manager := m["operation"], m["manager"]
		fieldsType, hasType := m["fieldsType"]
		_, hasSubresource := m["subresource"]
		name, isName := manager.(string)
		return ok && isManagedFields(m) && (operation == "Apply" || operation == "Update") && (!hasType || fieldsType == "FieldsV1") &&
			isName && len(metav1validation.ValidateFieldManager(name, nil)) == 0 && (!hasSubresource || m["subresource"] == "status" || m["subresource"] == "scale")
	})
}

// areValidFinalizers reports whether a value is a list of qualified names without orphan, which upstream checks by a
// rule of its own.
func areValidFinalizers(value any) bool {
	finalizers, ok := value.([]any)
	for _, v := range finalizers {
		name, isText := v.(string)
		ok = ok && isText && isQualifiedName(name) && name != metav1.FinalizerOrphanDependents
	}
	return ok
}

// isPartOf reports whether a value is a list of strings that are all in another list.
func isPartOf(value, whole any) bool {
	items, ok := value.([]any)
	list, _ := whole.([]any)
	for _, item := range items {
		ok = ok && isString(item) && slices.Contains(list, item)
	}
	return ok
}

// areValidOwners reports whether a value is a list of owners with at most one controller. Events cannot be owners.
func areValidOwners(value any) bool {
	owners, ok := value.([]any)
	controllers := 0
	for _, v := range owners {
		if ok = ok && isOwner(v); !ok {
			return false
		}
		owner := v.(map[string]any)
		if owner["controller"] == true {
			controllers++
		}
		apiVersion, _ := owner["apiVersion"].(string)
		version, err := schema.ParseGroupVersion(apiVersion)
		ok = err == nil && version.Version != "" && isText(owner["kind"]) && owner["kind"] != "Event" && isText(owner["name"]) && isText(owner["uid"])
	}
	return ok && controllers <= 1
}
