package typed

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	ownjson "github.com/fakecluster/fakecluster/internal/json"
)

// Encode appends the JSON of an object to a text, byte for byte as encoding/json prints it.
func Encode(text []byte, obj any) ([]byte, error) {
	v, p, err := structOf(obj)
	if err != nil {
		return text, err
	}
	return p.encode(text, v)
}

func (p *plan) encode(b []byte, v reflect.Value) ([]byte, error) {
	switch p.kind {
	case isText:
		return ownjson.AppendString(b, v.String()), nil
	case isBool:
		return strconv.AppendBool(b, v.Bool()), nil
	case isInteger:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case isUnsigned:
		return strconv.AppendUint(b, v.Uint(), 10), nil
	case isPointer:
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return p.elem.encode(b, v.Elem())
	case isStruct:
		return p.encodeFields(b, v)
	case isList:
		return p.encodeItems(b, v)
	case isMap:
		return p.encodeEntries(b, v)
	}
	return p.encodeScalar(b, v)
}

func (p *plan) encodeFields(b []byte, v reflect.Value) ([]byte, error) {
	b = ownjson.Roomy(b)
	next := byte('{')
	memory := memoryOf(v)
	for i := range p.fields {
		f := &p.fields[i]
		if f.omitEmpty && f.isUnset(memory) {
			continue
		}
		fv := f.in(v)
		if f.isLeftOut(fv) {
			continue
		}
		b = append(b, next)
		next = ','
		b = append(b, f.text...)
		var err error
		if b, err = f.plan.encode(b, fv); err != nil {
			return b, err
		}
	}
	if next == '{' {
		b = append(b, '{')
	}
	return append(b, '}'), nil
}

func (p *plan) encodeItems(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = p.elem.encode(b, v.Index(i)); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// entry is an entry of a map.
type entry struct {
	name  string
	value reflect.Value
}

func (p *plan) encodeEntries(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	if texts, ok := textsOf(v); ok {
		return appendTexts(b, texts), nil
	}
	entries := make([]entry, 0, 8) // on the stack, if there are no more
	for all := v.MapRange(); all.Next(); {
		entries = append(entries, entry{all.Key().String(), all.Value()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	b = append(b, '{')
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ownjson.AppendString(b, e.name), ':')
		var err error
		if b, err = p.elem.encode(b, e.value); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// appendTexts appends the JSON of a map from texts to texts.
func appendTexts(b []byte, texts map[string]string) []byte {
	type entry struct{ key, text string }
	entries := make([]entry, 0, 16) // on the stack, if there are no more
	for key, text := range texts {
		entries = append(entries, entry{key, text})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	b = append(b, '{')
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ownjson.AppendString(b, e.key), ':')
		b = ownjson.AppendString(b, e.text)
	}
	return append(b, '}')
}

func (p *plan) encodeScalar(b []byte, v reflect.Value) ([]byte, error) {
	switch p.kind {
	case isBytes:
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		b = base64.StdEncoding.AppendEncode(append(b, '"'), v.Bytes())
		return append(b, '"'), nil
	case isTime:
		return appendTime(b, timeOf(v), time.RFC3339), nil
	case isMicroTime:
		return appendTime(b, timeOf(v), metav1.RFC3339Micro), nil
	case isQuantity:
		q := quantityOf(v) // a copy: String keeps the text in it
		return append(append(append(b, '"'), q.String()...), '"'), nil
	case isIntOrString:
		switch is := intOrStringOf(v); is.Type {
		case intstr.Int:
			return strconv.AppendInt(b, int64(is.IntVal), 10), nil
		case intstr.String:
			return ownjson.AppendString(b, is.StrVal), nil
		default:
			return b, fmt.Errorf("impossible IntOrString.Type")
		}
	case isFieldsV1:
		if raw := rawFields(v); isCompact(raw) {
			return append(b, raw...), nil
		}
	}
	// This includes floats, which encoding/json prints in a form of its own.
	text, err := json.Marshal(addressable(v).Addr().Interface())
	return append(b, text...), err
}

func appendTime(b []byte, t time.Time, layout string) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	b = t.UTC().AppendFormat(append(b, '"'), layout)
	return append(b, '"')
}

// rawFields returns the text of a FieldsV1.
func rawFields(v reflect.Value) []byte {
	return addressable(v).Addr().Interface().(*metav1.FieldsV1).GetRawBytes()
}

// isCompact tells whether a text is JSON that encoding/json prints as it is.
func isCompact(raw []byte) bool {
	if !isPrintedAsIs(raw) {
		return false
	}
	r := ownjson.NewReader(unsafe.String(unsafe.SliceData(raw), len(raw)))
	_, ok := r.Raw()
	return ok && r.End()
}

// isPrintedAsIs tells whether encoding/json prints a piece of JSON as it is. It returns
// false if there is white space, even inside strings, or a character that is escaped for
// HTML, and for all texts that are not ASCII: they may be no UTF-8.
func isPrintedAsIs(raw []byte) bool {
	for _, c := range raw {
		if !stays[c] {
			return false
		}
	}
	return len(raw) > 0
}

// stays has the bytes of ASCII that encoding/json never escapes.
var stays = func() (all [256]bool) {
	for c := range all {
		switch c {
		case '<', '>', '&', ' ', '\t', '\n', '\r':
		default:
			all[c] = c < utf8.RuneSelf
		}
	}
	return all
}()
