package inspect

import (
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// UnmarshalJSON implements json.Unmarshaler: whole numbers become int64, as in an unstructured object.
func (v *Value) UnmarshalJSON(text []byte) error {
	var m map[string]any
	if err := utiljson.Unmarshal(text, &m); err != nil {
		return err
	}
	v.Path, _ = m["path"].(string)
	v.Value = m["value"]
	return nil
}

// UnmarshalJSON implements json.Unmarshaler: whole numbers become int64, as in an unstructured object.
func (c *Change) UnmarshalJSON(text []byte) error {
	var m map[string]any
	if err := utiljson.Unmarshal(text, &m); err != nil {
		return err
	}
	c.Path, _ = m["path"].(string)
	c.Was, c.Is = m["was"], m["is"]
	c.OwnersBefore, c.Owners = texts(m["ownersBefore"]), texts(m["owners"])
	return nil
}

func texts(value any) []string {
	all, _ := value.([]any)
	var out []string
	for _, one := range all {
		if text, ok := one.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
