package typed

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	ownjson "github.com/fakecluster/fakecluster/internal/json"
)

// Encode appends the JSON of an object to a text, byte for byte as encoding/json prints it. Hollow says
// that the text has something that protobuf does not have, so that AsProtobuf may change the object.
func Encode(text []byte, obj any) (out []byte, hollow bool, err error) {
	at, p, err := memoryOf(obj)
	if err != nil {
		return text, false, err
	}
	var e encoding
	text, err = e.encode(p, text, at)
	return text, e.hollow, err
}

// encoding is one call of Encode.
type encoding struct {
	hollow bool // there is an empty list, or a map has lists or bytes that are null
}

func (e *encoding) encode(p *plan, b []byte, at unsafe.Pointer) ([]byte, error) {
	switch p.kind {
	case isText:
		return ownjson.AppendString(b, textAt(at)), nil
	case isBool:
		return strconv.AppendBool(b, boolAt(at)), nil
	case isInteger:
		return strconv.AppendInt(b, p.integerAt(at), 10), nil
	case isUnsigned:
		return strconv.AppendUint(b, p.unsignedAt(at), 10), nil
	case isPointer:
		to := addressAt(at)
		if to == nil {
			return append(b, "null"...), nil
		}
		return e.encode(p.elem, b, to)
	case isStruct:
		return e.encodeFields(p, b, at)
	case isList:
		return e.encodeItems(p, b, listAt(at))
	case isMap:
		return e.encodeEntries(p, b, at)
	}
	return p.encodeScalar(b, at)
}

func (e *encoding) encodeFields(p *plan, b []byte, of unsafe.Pointer) ([]byte, error) {
	b = ownjson.Roomy(b)
	next := byte('{')
	for i := range p.fields {
		f := &p.fields[i]
		if f.omitEmpty && f.isUnset(of) || f.isLeftOut(of) {
			continue
		}
		b = append(b, next)
		next = ','
		b = append(b, f.text...)
		var err error
		if b, err = e.encode(f.plan, b, f.at(of)); err != nil {
			return b, err
		}
	}
	if next == '{' {
		b = append(b, '{')
	}
	return append(b, '}'), nil
}

func (e *encoding) encodeItems(p *plan, b []byte, all list) ([]byte, error) {
	if all.first == nil {
		return append(b, "null"...), nil
	}
	e.hollow = e.hollow || all.len == 0
	b = append(b, '[')
	for i := range all.len {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = e.encode(p.elem, b, p.item(all, i)); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// entry is an entry of a map.
type entry struct {
	name  string
	value unsafe.Pointer
}

func (e *encoding) encodeEntries(p *plan, b []byte, at unsafe.Pointer) ([]byte, error) {
	if addressAt(at) == nil {
		return append(b, "null"...), nil
	}
	if texts, ok := p.textsAt(at); ok {
		return appendTexts(b, texts), nil
	}
	if quantities, ok := p.quantitiesAt(at); ok {
		return appendQuantities(b, quantities), nil
	}
	entries := make([]entry, 0, 8) // on the stack, if there are no more
	for all := p.value(at).MapRange(); all.Next(); {
		entries = append(entries, entry{all.Key().String(), addressable(all.Value()).Addr().UnsafePointer()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	b = append(b, '{')
	for i, one := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		if k := p.elem.kind; k == isList || k == isBytes {
			e.hollow = e.hollow || addressAt(one.value) == nil
		}
		b = append(ownjson.AppendString(b, one.name), ':')
		var err error
		if b, err = e.encode(p.elem, b, one.value); err != nil {
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

// appendQuantities appends the JSON of a map from texts to quantities.
func appendQuantities(b []byte, quantities map[string]apiresource.Quantity) []byte {
	names := make([]string, 0, 8) // on the stack, if there are no more
	for name := range quantities {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ownjson.AppendString(b, name), ':')
		b = appendQuantity(b, quantities[name])
	}
	return append(b, '}')
}

// appendQuantity is given a copy: String keeps the text in it.
func appendQuantity(b []byte, q apiresource.Quantity) []byte {
	return append(append(append(b, '"'), q.String()...), '"')
}

func (p *plan) encodeScalar(b []byte, at unsafe.Pointer) ([]byte, error) {
	switch p.kind {
	case isBytes:
		if addressAt(at) == nil {
			return append(b, "null"...), nil
		}
		b = base64.StdEncoding.AppendEncode(append(b, '"'), bytesAt(at))
		return append(b, '"'), nil
	case isTime:
		return appendTime(b, *timeAt(at), time.RFC3339), nil
	case isMicroTime:
		return appendTime(b, *timeAt(at), metav1.RFC3339Micro), nil
	case isQuantity:
		return appendQuantity(b, *quantityAt(at)), nil
	case isIntOrString:
		switch is := intOrStringAt(at); is.Type {
		case intstr.Int:
			return strconv.AppendInt(b, int64(is.IntVal), 10), nil
		case intstr.String:
			return ownjson.AppendString(b, is.StrVal), nil
		default:
			return b, fmt.Errorf("impossible IntOrString.Type")
		}
	case isFieldsV1:
		if raw := rawFieldsAt(at); isCompact(raw) {
			return append(b, raw...), nil
		}
	}
	// This includes floats, which encoding/json prints in a form of its own.
	text, err := json.Marshal(p.pointer(at))
	return append(b, text...), err
}

func appendTime(b []byte, t time.Time, layout string) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	b = t.UTC().AppendFormat(append(b, '"'), layout)
	return append(b, '"')
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
