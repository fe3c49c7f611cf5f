package crd

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
)

// isCanonical tells whether metadata is in the one form that reading it into an
// ObjectMeta and writing it back gives. If it says so there is no need to do
// that, which takes longer than all else that decoding does.
func isCanonical(metadata map[string]any) bool {
	for key, value := range metadata {
		ok := false
		switch key {
		case "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion":
			ok = isText(value)
		case "labels", "annotations":
			ok = isTextMap(value)
		case "creationTimestamp", "deletionTimestamp":
			ok = isTime(value)
		case "generation":
			n, isInt := value.(int64)
			ok = isInt && n != 0
		case "deletionGracePeriodSeconds":
			_, ok = value.(int64)
		case "finalizers":
			ok = isList(value, isText)
		case "ownerReferences":
			ok = isList(value, isOwner)
		case "managedFields":
			ok = isList(value, isManagedFields)
		}
		if !ok {
			return false
		}
	}
	return true
}

func isText(value any) bool {
	s, ok := value.(string)
	return ok && s != ""
}

func isString(value any) bool {
	_, ok := value.(string)
	return ok
}

func isTextMap(value any) bool {
	m, ok := value.(map[string]any)
	for _, v := range m {
		ok = ok && isString(v)
	}
	return ok && len(m) > 0
}

func isList(value any, isItem func(any) bool) bool {
	items, ok := value.([]any)
	for _, item := range items {
		ok = ok && isItem(item)
	}
	return ok && len(items) > 0
}

// isTime tells whether a value is a time as the server writes it:
// 2006-01-02T15:04:05Z.
func isTime(value any) bool {
	const form = "dddd-dd-ddTdd:dd:ddZ"
	s, ok := value.(string)
	if !ok || len(s) != len(form) {
		return false
	}
	for i := range len(form) {
		digit := s[i] >= '0' && s[i] <= '9'
		if form[i] == 'd' != digit || form[i] != 'd' && s[i] != form[i] {
			return false
		}
	}
	// A time that no clock shows is not one: 24 o'clock, the 31st of June.
	return s[5:7] >= "01" && s[5:7] <= "12" && s[8:10] >= "01" && s[8:10] <= "28" &&
		s[11:13] <= "23" && s[14:16] <= "59" && s[17:19] <= "59"
}

func isOwner(value any) bool {
	m, ok := value.(map[string]any)
	for _, key := range []string{"apiVersion", "kind", "name", "uid"} {
		ok = ok && isString(m[key])
	}
	known := 4
	for _, key := range []string{"controller", "blockOwnerDeletion"} {
		if v, has := m[key]; has {
			known++
			_, isBool := v.(bool)
			ok = ok && isBool
		}
	}
	return ok && len(m) == known
}

func isManagedFields(value any) bool {
	m, ok := value.(map[string]any)
	for key, v := range m {
		switch key {
		case "manager", "operation", "apiVersion", "fieldsType", "subresource":
			ok = ok && isText(v)
		case "time":
			ok = ok && isTime(v)
		case "fieldsV1":
			_, isMap := v.(map[string]any)
			ok = ok && isMap
		default:
			return false
		}
	}
	return ok
}

// MetadataIsValid is resource.Version.MetadataIsValid. It says so of the
// metadata that nearly all objects have: a name, a namespace, labels and
// annotations; and of metadata that an update left as it was.
func (s customStrategy) MetadataIsValid(obj, old runtime.Object) bool {
	is, _ := obj.(*unstructured.Unstructured).Object["metadata"].(map[string]any)
	var was map[string]any
	if u, ok := old.(*unstructured.Unstructured); ok && u != nil {
		was, _ = u.Object["metadata"].(map[string]any)
	}
	for key, value := range is {
		ok := false
		switch key {
		case "managedFields":
			ok = areValidManagers(value)
		case "resourceVersion", "generation":
			ok = true // the server's own
		case "name":
			ok = isValid(value, isSubdomain, was, key)
		case "namespace":
			ok = s.namespaced && isValid(value, isLabel, was, key)
		case "uid", "creationTimestamp":
			ok = was == nil || value == was[key]
		case "labels":
			ok = equalJSON(value, was[key]) || areValidLabels(value)
		case "annotations":
			ok = equalJSON(value, was[key]) || areValidAnnotations(value)
		default:
			ok = was != nil && equalJSON(value, was[key])
		}
		if !ok {
			return false
		}
	}
	// What an update must not take away, it has to have.
	for key := range was {
		switch key {
		case "labels", "annotations", "managedFields", "generation":
		default:
			if _, ok := is[key]; !ok {
				return false
			}
		}
	}
	return is["name"] != nil && (is["namespace"] != nil) == s.namespaced
}

// isValid tells whether a name is valid and, in an update, the one there was.
func isValid(value any, check func(string) bool, was map[string]any, key string) bool {
	if was != nil {
		return value == was[key]
	}
	name, ok := value.(string)
	return ok && check(name)
}

func areValidLabels(value any) bool {
	labels, ok := value.(map[string]any)
	for key, v := range labels {
		text, isText := v.(string)
		ok = ok && isText && isQualifiedName(key) && isLabelValue(text)
	}
	return ok
}

func areValidAnnotations(value any) bool {
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

// areValidManagers tells whether managedFields holds nothing that validation
// could refuse.
func areValidManagers(value any) bool {
	return isList(value, func(entry any) bool {
		m, ok := entry.(map[string]any)
		operation, manager := m["operation"], m["manager"]
		fieldsType, hasType := m["fieldsType"]
		_, hasSubresource := m["subresource"]
		name, isName := manager.(string)
		return ok && (operation == "Apply" || operation == "Update") && (!hasType || fieldsType == "FieldsV1") &&
			isName && len(metav1validation.ValidateFieldManager(name, nil)) == 0 && (!hasSubresource || m["subresource"] == "status" || m["subresource"] == "scale")
	})
}
