package metadata

// IsCanonical reports whether reading metadata into an ObjectMeta and writing it back would
// change nothing. Doing so takes longer than all the rest of decoding.
func IsCanonical(metadata map[string]any) bool {
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

// isText reports whether a value is a string that is not empty.
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

func isTime(value any) bool {
	s, ok := value.(string)
	return ok && IsTime(s)
}

func isOwner(value any) bool {
	m, ok := value.(map[string]any)
	for _, key := range []string{"apiVersion", "kind", "name", "uid"} {
		ok = ok && isString(m[key])
	}
	expected := 4
	for _, key := range []string{"controller", "blockOwnerDeletion"} {
		if v, has := m[key]; has {
			expected++
			_, isBool := v.(bool)
			ok = ok && isBool
		}
	}
	return ok && len(m) == expected
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
