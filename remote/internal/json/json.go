// Package json reads JSON into the types that unstructured objects of Kubernetes have.
package json

import (
	"bytes"
	"encoding/json"
)

// Unmarshal reads an object. Whole numbers become int64, and others float64.
func Unmarshal(text []byte, into *map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	for key, value := range *into {
		(*into)[key] = withNumbers(value)
	}
	return nil
}

// withNumbers replaces the numbers in a value.
func withNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			v[key] = withNumbers(field)
		}
	case []any:
		for i, item := range v {
			v[i] = withNumbers(item)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		n, _ := v.Float64() // one that is too large is infinite
		return n
	}
	return value
}
