package fields

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// element is an element of a path: a field by its name, or an item of a list by its keys, its value or its index.
type element struct {
	text string // in fieldsV1: f:name, k:{"type":"Ready"}, v:"a", i:0
	item *item  // nil: a field
}

// item identifies an item of a list.
type item struct {
	kind  itemKind
	keys  []key // sorted by name
	value any
	index int
}

type itemKind uint8

const (
	byKeys itemKind = iota
	byValue
	byIndex
)

// key is a key of an item with its value: a string, int64, float64 or bool.
type key struct {
	name  string
	value any
}

func fieldElement(name string) element { return element{text: "f:" + name} }

// name returns the name of a field.
func (e element) name() string { return e.text[2:] }

// keysElement returns the element of an item with the given keys, which are sorted by name.
func keysElement(keys []key) (element, bool) {
	text := append(make([]byte, 0, 48), "k:{"...)
	for i, k := range keys {
		if i > 0 {
			text = append(text, ',')
		}
		if !isPlain(k.name) {
			return oddElement(&item{kind: byKeys, keys: keys})
		}
		text = append(append(append(text, '"'), k.name...), '"', ':')
		var ok bool
		if text, ok = appendScalar(text, k.value); !ok {
			return oddElement(&item{kind: byKeys, keys: keys})
		}
	}
	return element{string(append(text, '}')), &item{kind: byKeys, keys: keys}}, true
}

// valueElement returns the element of an item of a set.
func valueElement(v any) (element, bool) {
	it := &item{kind: byValue, value: v}
	text, ok := appendScalar([]byte("v:"), v)
	if !ok {
		return oddElement(it)
	}
	return element{string(text), it}, true
}

// oddElement returns the element of an item whose keys or value are not plain texts or small numbers, by upstream's
// code.
func oddElement(it *item) (element, bool) {
	for _, k := range it.keys {
		if !isExact(k.value) {
			return element{}, false
		}
	}
	if it.kind == byValue && !isExact(it.value) {
		return element{}, false
	}
	text, err := fieldpath.SerializePathElement(element{item: it}.upstream())
	return element{text, it}, err == nil
}

// isExact reports whether a scalar does not change when it is encoded and decoded as a float64, as upstream decodes
// numbers in paths.
func isExact(v any) bool {
	switch v := v.(type) {
	case int64:
		return v > -1<<53 && v < 1<<53
	case string, bool, float64:
		return true
	}
	return false
}

func appendScalar(text []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case string:
		if !isPlain(v) {
			return text, false
		}
		return append(append(append(text, '"'), v...), '"'), true
	case int64:
		return strconv.AppendInt(text, v, 10), isExact(v)
	case float64:
		if n := int64(v); v == float64(n) && n > -1e15 && n < 1e15 && (n != 0 || !isNegativeZero(v)) {
			return strconv.AppendInt(text, n, 10), true
		}
		return text, false
	case bool:
		return strconv.AppendBool(text, v), true
	}
	return text, false
}

func isNegativeZero(v float64) bool { return v == 0 && strconv.FormatFloat(v, 'g', -1, 64) == "-0" }

// isPlain reports whether JSON encodes a text without escapes.
func isPlain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

// upstream returns the element in the type of upstream's library.
func (e element) upstream() fieldpath.PathElement {
	if e.item == nil {
		return fieldpath.FieldNameElement(e.name())
	}
	switch e.item.kind {
	case byKeys:
		list := make(value.FieldList, len(e.item.keys))
		for i, k := range e.item.keys {
			list[i] = value.Field{Name: k.name, Value: value.NewValueInterface(k.value)}
		}
		return fieldpath.PathElement{Key: &list}
	case byValue:
		return fieldpath.ValueElement(value.NewValueInterface(e.item.value))
	}
	return fieldpath.IndexElement(e.item.index)
}

// parseElement parses an element. canonical is false if upstream would write it differently. supported is false for a
// kind of element that the caller must leave out, as upstream does.
func parseElement(text string) (e element, canonical, supported, ok bool) {
	if len(text) < 2 || text[1] != ':' {
		return element{}, false, false, false
	}
	switch text[0] {
	case 'f':
		return element{text: text}, true, true, true
	case 'k':
		if keys, ok := parseKeys(text[2:]); ok {
			return element{text, &item{kind: byKeys, keys: keys}}, true, true, true
		}
	case 'v':
		if v, rest, ok := parseScalar(text[2:]); ok && rest == "" {
			return element{text, &item{kind: byValue, value: v}}, true, true, true
		}
	case 'i':
	default:
		return element{}, false, false, true
	}
	e, ok = parseOdd(text)
	return e, e.text == text, true, ok
}

// parseOdd parses an element that does not consist of plain texts and small numbers, by upstream's code.
func parseOdd(text string) (element, bool) {
	pe, err := fieldpath.DeserializePathElement(text)
	if err != nil {
		return element{}, false
	}
	it := &item{}
	switch {
	case pe.Key != nil:
		for i, f := range *pe.Key {
			if i > 0 && it.keys[i-1].name == f.Name {
				return element{}, false
			}
			it.keys = append(it.keys, key{f.Name, f.Value.Unstructured()})
		}
	case pe.Value != nil:
		it.kind, it.value = byValue, (*pe.Value).Unstructured()
	case pe.Index != nil:
		it.kind, it.index = byIndex, *pe.Index
		return element{"i:" + strconv.Itoa(it.index), it}, true
	}
	return oddElement(it)
}

// parseKeys parses keys in the form of keysElement, if they are plain texts and small numbers.
func parseKeys(text string) ([]key, bool) {
	rest, ok := strings.CutPrefix(text, "{")
	if !ok {
		return nil, false
	}
	keys := make([]key, 0, 1)
	for {
		if rest == "" || rest[0] != '"' {
			return nil, false
		}
		name, after, ok := strings.Cut(rest[1:], `":`)
		if !ok || !isPlain(name) || len(keys) > 0 && keys[len(keys)-1].name >= name {
			return nil, false
		}
		v, after, ok := parseScalar(after)
		if !ok || after == "" {
			return nil, false
		}
		keys = append(keys, key{name, v})
		switch {
		case after == "}":
			return keys, true
		case after[0] != ',':
			return nil, false
		}
		rest = after[1:]
	}
}

// parseScalar parses a plain text, a small number or a boolean. As in upstream, numbers become float64, which shows in
// messages.
func parseScalar(text string) (v any, rest string, ok bool) {
	if text == "" {
		return nil, "", false
	}
	if text[0] == '"' {
		s, after, ok := strings.Cut(text[1:], `"`)
		return s, after, ok && isPlain(s)
	}
	end := strings.IndexAny(text, ",}")
	if end < 0 {
		end = len(text)
	}
	word, rest := text[:end], text[end:]
	switch word {
	case "true":
		return true, rest, true
	case "false":
		return false, rest, true
	}
	if len(word) > 15 {
		return nil, "", false
	}
	n, err := strconv.ParseInt(word, 10, 64)
	return float64(n), rest, err == nil && strconv.FormatInt(n, 10) == word
}

// compareElements compares elements in upstream's order: fields by name, then items by keys, by value and by index.
func compareElements(a, b element) int {
	if a.item == nil || b.item == nil {
		if a.item == nil && b.item == nil {
			return strings.Compare(a.text, b.text)
		}
		if a.item == nil {
			return -1
		}
		return 1
	}
	if c := cmp.Compare(a.item.kind, b.item.kind); c != 0 {
		return c
	}
	switch a.item.kind {
	case byKeys:
		return compareKeys(a.item.keys, b.item.keys)
	case byValue:
		return compareScalars(a.item.value, b.item.value)
	}
	return cmp.Compare(a.item.index, b.item.index)
}

func compareKeys(a, b []key) int {
	for i := range min(len(a), len(b)) {
		if c := strings.Compare(a[i].name, b[i].name); c != 0 {
			return c
		}
		if c := compareScalars(a[i].value, b[i].value); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareScalars sorts numbers before strings, and strings before booleans.
func compareScalars(a, b any) int {
	ra, rb := rank(a), rank(b)
	if ra != rb {
		return cmp.Compare(ra, rb)
	}
	switch a := a.(type) {
	case string:
		return strings.Compare(a, b.(string))
	case bool:
		b := b.(bool)
		switch {
		case a == b:
			return 0
		case b:
			return -1
		}
		return 1
	}
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(float(a), float(b))
}

func rank(v any) int {
	switch v.(type) {
	case int64, float64:
		return 0
	case string:
		return 1
	case bool:
		return 2
	}
	return 3
}

func float(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	f, _ := v.(float64)
	return f
}

// show formats the element for messages: .name, [type="Ready"], [="a"], [0]. read is set if it was parsed from
// managedFields, where upstream decodes numbers as floats: 30000000 is 3e+07.
func (e element) show(read bool) string {
	if e.item == nil {
		return "." + e.name()
	}
	switch e.item.kind {
	case byKeys:
		var b strings.Builder
		for i, k := range e.item.keys {
			b.WriteByte("[,"[min(i, 1)])
			b.WriteString(k.name + "=" + showScalar(k.value, read))
		}
		return b.String() + "]"
	case byValue:
		return "[=" + showScalar(e.item.value, read) + "]"
	}
	return fmt.Sprintf("[%d]", e.item.index)
}

func showScalar(v any, read bool) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case int64:
		if read {
			return fmt.Sprint(float64(v))
		}
	}
	return fmt.Sprint(v)
}
