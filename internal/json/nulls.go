package json

// DropNulls removes the fields with the value null from all objects in a value, as a merge patch does. Nulls that are
// items of lists stay. It alters the value.
func DropNulls(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			DropNulls(item)
		}
	case map[string]any:
		for key, field := range value {
			if field == nil {
				delete(value, key)
			} else {
				DropNulls(field)
			}
		}
	}
}
