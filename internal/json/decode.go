package json

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxPlainDepth is the depth to which plain JSON may nest.
const maxPlainDepth = 64

// Decode reads a JSON object as sigs.k8s.io/json does, with integers as int64, in half the
// time. It reads plain JSON only: without duplicate fields, deep nesting or unpaired
// surrogates. For any other text it returns false, which does not mean that the text is
// wrong. The strings are parts of the text.
func Decode(text string) (map[string]any, bool) {
	d := &decoder{text: text}
	d.space()
	if d.offset >= len(text) || text[d.offset] != '{' {
		return nil, false
	}
	obj, ok := d.object(0)
	d.space()
	return obj, ok && d.offset == len(text)
}

// decoder reads plain JSON. Strings are parts of the text.
type decoder struct {
	text   string
	offset int
}

func (d *decoder) space() {
	for d.offset < len(d.text) {
		switch d.text[d.offset] {
		case ' ', '\t', '\n', '\r':
			d.offset++
		default:
			return
		}
	}
}

// next skips white space and then a byte, and reports whether the byte was there.
func (d *decoder) next(c byte) bool {
	d.space()
	if d.offset < len(d.text) && d.text[d.offset] == c {
		d.offset++
		return true
	}
	return false
}

func (d *decoder) literal(word string) bool {
	if len(d.text)-d.offset < len(word) || d.text[d.offset:d.offset+len(word)] != word {
		return false
	}
	d.offset += len(word)
	return true
}

func (d *decoder) value(depth int) (any, bool) {
	d.space()
	if d.offset >= len(d.text) || depth > maxPlainDepth {
		return nil, false
	}
	switch d.text[d.offset] {
	case '{':
		return d.object(depth)
	case '[':
		return d.list(depth)
	case '"':
		return d.string()
	case 't':
		return true, d.literal("true")
	case 'f':
		return false, d.literal("false")
	case 'n':
		return nil, d.literal("null")
	}
	return d.number()
}

func (d *decoder) object(depth int) (map[string]any, bool) {
	obj := map[string]any{}
	d.offset++
	if d.next('}') {
		return obj, true
	}
	for {
		d.space()
		if d.offset >= len(d.text) || d.text[d.offset] != '"' {
			return nil, false
		}
		name, ok := d.string()
		if !ok || !d.next(':') {
			return nil, false
		}
		value, ok := d.value(depth + 1)
		if !ok {
			return nil, false
		}
		before := len(obj)
		if obj[name] = value; len(obj) == before {
			return nil, false // it was there
		}
		if d.next('}') {
			return obj, true
		}
		if !d.next(',') {
			return nil, false
		}
	}
}

func (d *decoder) list(depth int) ([]any, bool) {
	list := []any{}
	d.offset++
	if d.next(']') {
		return list, true
	}
	for {
		value, ok := d.value(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, value)
		if d.next(']') {
			return list, true
		}
		if !d.next(',') {
			return nil, false
		}
	}
}

func (d *decoder) string() (string, bool) {
	d.offset++
	from, ascii := d.offset, true
	for ; d.offset < len(d.text); d.offset++ {
		switch c := d.text[d.offset]; {
		case c == '"':
			s := d.text[from:d.offset]
			d.offset++
			return s, ascii || utf8.ValidString(s)
		case c == '\\':
			return d.escaped(from)
		case c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false
}

// escaped reads the rest of a string that began at from, at its first escape.
func (d *decoder) escaped(from int) (string, bool) {
	text := append(make([]byte, 0, 64), d.text[from:d.offset]...) // on the stack, if it is enough
	for d.offset < len(d.text) {
		c := d.text[d.offset]
		switch {
		case c == '"':
			d.offset++
			return string(text), utf8.Valid(text)
		case c < ' ':
			return "", false
		case c != '\\':
			text = append(text, c)
			d.offset++
		case d.literal(`\u`):
			r, ok := d.rune()
			if !ok {
				return "", false
			}
			text = utf8.AppendRune(text, r)
		default:
			if d.offset++; d.offset == len(d.text) {
				return "", false
			}
			escape := escapes[d.text[d.offset]]
			if escape == 0 {
				return "", false
			}
			text = append(text, escape)
			d.offset++
		}
	}
	return "", false
}

// escapes has the characters that letters mean after a backslash.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// rune reads the digits of an escaped character, and those of the second surrogate if it
// takes two. It returns false for an unpaired surrogate.
func (d *decoder) rune() (rune, bool) {
	r, ok := d.hex()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if !d.literal(`\u`) {
		return 0, false
	}
	second, ok := d.hex()
	whole := utf16.DecodeRune(r, second)
	return whole, ok && whole != utf8.RuneError
}

func (d *decoder) hex() (rune, bool) {
	if len(d.text)-d.offset < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(d.text[d.offset:d.offset+4], 16, 16)
	d.offset += 4
	return rune(n), err == nil
}

func (d *decoder) digits() bool {
	from := d.offset
	for d.offset < len(d.text) && d.text[d.offset] >= '0' && d.text[d.offset] <= '9' {
		d.offset++
	}
	return d.offset > from
}

func (d *decoder) number() (any, bool) {
	from := d.offset
	d.literal("-")
	if !d.literal("0") && !d.digits() {
		return nil, false
	}
	whole := true
	if d.literal(".") {
		if whole = false; !d.digits() {
			return nil, false
		}
	}
	if d.literal("e") || d.literal("E") {
		if whole = false; !d.literal("+") {
			d.literal("-")
		}
		if !d.digits() {
			return nil, false
		}
	}
	text := d.text[from:d.offset]
	if whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}
