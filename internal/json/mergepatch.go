package json

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// MergePatch merges a JSON merge patch (RFC 7386) into an object. It returns the same bytes as
// jsonpatch.MergePatch, in a fifth of the time. The document is the text of an object as json.Marshal prints it.
// What the patch does not touch is copied and not read, so numbers keep their form: 2.0 stays 2.0.
//
// It takes plain patches only, as [Decode] defines it. For any other patch it returns false.
func MergePatch(document, patch string) (merged []byte, ok bool) {
	if _, plain := Decode(patch); !plain {
		return nil, false
	}
	m := merger{make([]byte, 0, len(document)+len(patch))}
	m.merge(document, patch)
	return m.text, true
}

// Merge merges a value of a plain patch, which is not null, into the value of a field; empty: there is no such field.
func Merge(value, patch string) []byte {
	m := merger{make([]byte, 0, len(value)+len(patch))}
	m.change(rawField{value: cmp.Or(value, "null")}, rawField{value: patch})
	return m.text
}

// merger appends to a text.
type merger struct{ text []byte }

// rawField is a field of an object with the text of its value.
type rawField struct{ name, value string }

func (f rawField) isNull() bool   { return f.value == "null" }
func (f rawField) isObject() bool { return f.value[0] == '{' }

// rawFields returns the fields of a valid object in the order of their names. Of several with one name, the last counts.
func rawFields(object string) []rawField {
	fields := make([]rawField, 0, 16)
	gjson.Parse(object).ForEach(func(name, value gjson.Result) bool {
		fields = append(fields, rawField{name.String(), value.Raw})
		return true
	})
	slices.Reverse(fields)
	slices.SortStableFunc(fields, func(a, b rawField) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(fields, func(a, b rawField) bool { return a.name == b.name })
}

// merge appends an object with a patch merged into it.
func (m *merger) merge(document, patch string) {
	fields, changes := rawFields(document), rawFields(patch)
	m.begin('{')
	for len(fields) > 0 || len(changes) > 0 {
		switch {
		case len(changes) == 0 || len(fields) > 0 && fields[0].name < changes[0].name:
			m.name(fields[0].name)
			m.text = append(m.text, fields[0].value...)
			fields = fields[1:]
		case len(fields) == 0 || changes[0].name < fields[0].name:
			m.field(rawField{value: "null"}, changes[0])
			changes = changes[1:]
		default:
			m.field(fields[0], changes[0])
			fields, changes = fields[1:], changes[1:]
		}
	}
	m.end('}')
}

// field appends a field with a change merged into it.
func (m *merger) field(field, change rawField) {
	if change.isNull() {
		return
	}
	m.name(change.name)
	m.change(field, change)
}

// change appends the value of a field with a change merged into it.
func (m *merger) change(field, change rawField) {
	switch {
	case !field.isObject():
		m.withoutNulls(change.value)
	case change.isObject():
		m.merge(field.value, change.value)
	default:
		m.value(change.value) // with the nulls in it, as upstream
	}
}

// withoutNulls appends a value of a patch without the nulls of its objects.
func (m *merger) withoutNulls(value string) {
	switch value[0] {
	case '{':
		m.merge("{}", value)
	case '[':
		m.begin('[')
		gjson.Parse(value).ForEach(func(_, item gjson.Result) bool {
			m.separate()
			m.withoutNulls(item.Raw)
			return true
		})
		m.end(']')
	default:
		m.value(value)
	}
}

// value appends a value of a patch as it is, apart from white space and escapes.
func (m *merger) value(value string) {
	text, err := json.Marshal(json.RawMessage(value))
	if err != nil {
		panic(err) // Decode has read the patch
	}
	m.text = append(m.text, text...)
}

func (m *merger) begin(bracket byte) { m.text = append(m.text, bracket) }
func (m *merger) end(bracket byte)   { m.text = append(m.text, bracket) }

// separate appends a comma, unless an object or a list has just begun.
func (m *merger) separate() {
	if last := m.text[len(m.text)-1]; last != '{' && last != '[' {
		m.text = append(m.text, ',')
	}
}

func (m *merger) name(name string) {
	m.separate()
	m.text = append(AppendString(m.text, name), ':')
}
