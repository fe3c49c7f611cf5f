package inspect

import (
	"bytes"
	"encoding/json"
)

// unmarshal reads JSON. Whole numbers become int64, and others float64.
func unmarshal(text []byte, into *map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	for key, value := range *into {
		(*into)[key] = plain(value)
	}
	return nil
}

// plain replaces the numbers in a value.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			v[key] = plain(field)
		}
	case []any:
		for i, item := range v {
			v[i] = plain(item)
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
