// Code generated from inspect/change.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package inspect

import (
	"encoding/json"
	"fmt"
	"strings"

	utiljson "github.com/fakecluster/fakecluster/remote/internal/json"

	"github.com/fakecluster/fakecluster/remote/internal/printable"
)

// FieldValue is the value of a field.
type FieldValue struct {
	// Path names the field, such as spec.containers[name=web].image.
	Path string `json:"path"`
	// Value is a JSON value, as in an unstructured object.
	Value any `json:"value"`
}

// FieldChange is one difference between two states of an object.
type FieldChange struct {
	// Path names the field. An item of a list is named by its keys if the list has keys, and
	// by its index otherwise: spec.containers[name=web].image,
	// metadata.labels["app.kubernetes.io/name"], spec.args[0]. All items of a set are called
	// metadata.finalizers[].
	Path string `json:"path"`
	// Was and Is are JSON values, as in an unstructured object. Was is nil for a field that was
	// added, and Is for one that was removed.
	Was any `json:"was,omitempty"`
	Is  any `json:"is,omitempty"`
	// OwnersBefore and Owners are the managers that own the field, or a field below it, before the write and
	// after it. They are set only in [Explanation.Changes].
	OwnersBefore []string `json:"ownersBefore,omitempty"`
	Owners       []string `json:"owners,omitempty"`
}

// String shows the change on one line, such as
//
//	spec.replicas: 1 → 3
func (c FieldChange) String() string { return printable.Text(c.line()) }

func (c FieldChange) line() string {
	switch {
	case c.Was == nil:
		return fmt.Sprintf("%s: added %s", c.Path, show(c.Is))
	case c.Is == nil:
		return fmt.Sprintf("%s: removed %s", c.Path, show(c.Was))
	}
	return fmt.Sprintf("%s: %s → %s", c.Path, show(c.Was), show(c.Is))
}

// shownValue is how many characters of a value a text shows.
const shownValue = 120

// show prints a value as JSON, shortened.
func show(value any) string {
	var b strings.Builder
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false) // it is for a person
	if err := out.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return shorten(strings.TrimSuffix(b.String(), "\n"))
}

func shorten(text string) string {
	if shown := []rune(text); len(shown) > shownValue {
		return string(shown[:shownValue]) + "…"
	}
	return text
}

// UnmarshalJSON implements json.Unmarshaler: whole numbers become int64, as in an unstructured object.
func (v *FieldValue) UnmarshalJSON(text []byte) error {
	var m map[string]any
	if err := utiljson.Unmarshal(text, &m); err != nil {
		return err
	}
	v.Path, _ = m["path"].(string)
	v.Value = m["value"]
	return nil
}

// UnmarshalJSON implements json.Unmarshaler: whole numbers become int64, as in an unstructured object.
func (c *FieldChange) UnmarshalJSON(text []byte) error {
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
	items, _ := value.([]any)
	var out []string
	for _, one := range items {
		if text, ok := one.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
