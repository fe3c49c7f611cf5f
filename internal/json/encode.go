package json

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Encode is json.Marshal for what unstructured objects are made of, byte for
// byte, in a third of its time. What it does not know it leaves to json.Marshal.
func Encode(obj map[string]any) ([]byte, error) {
	return appendJSON(make([]byte, 0, 2048), obj)
}

func appendJSON(b []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case string:
		return appendString(b, v), nil
	case map[string]any:
		if v != nil {
			return appendMap(b, v)
		}
	case []any:
		if v != nil {
			return appendList(b, v)
		}
	}
	text, err := json.Marshal(value)
	return append(b, text...), err
}

const hexDigits = "0123456789abcdef"

// appendString prints a string as json.Marshal does, which escapes what HTML might
// misread.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if isPlain[c] {
				i++
				continue
			}
			b = append(append(b, s[from:i]...), '\\')
			if short := shortEscapes[c]; short != 0 {
				b = append(b, short)
			} else {
				b = append(b, 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
			}
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
			from = i + size
		case r == '\u2028' || r == '\u2029': // they end lines in JavaScript
			b = append(append(b, s[from:i]...), `\u202`...)
			b = append(b, hexDigits[r&0xf])
			from = i + size
		}
		i += size
	}
	return append(append(b, s[from:]...), '"')
}

// isPlain are the bytes that stand in JSON as they are.
var isPlain = func() (plain [utf8.RuneSelf]bool) {
	for c := range plain {
		switch c {
		case '"', '\\', '<', '>', '&':
		default:
			plain[c] = c >= ' '
		}
	}
	return plain
}()

// shortEscapes are the bytes that a letter stands for behind a backslash.
var shortEscapes = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// field is one of an object.
type field struct {
	name  string
	value any
}

// appendMap prints the fields in the order of their names. It gathers them with their
// values, so that none has to be looked up.
func appendMap(b []byte, m map[string]any) (_ []byte, err error) {
	if len(m) == 0 {
		return append(b, "{}"...), nil
	}
	fields := make([]field, 0, 16) // on the stack, if there are no more
	for name, value := range m {
		fields = append(fields, field{name, value})
	}
	if len(fields) <= 16 { // most have few
		for i := 1; i < len(fields); i++ {
			for j := i; j > 0 && fields[j].name < fields[j-1].name; j-- {
				fields[j], fields[j-1] = fields[j-1], fields[j]
			}
		}
	} else {
		slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	}
	for i := range fields {
		c := byte(',')
		if i == 0 {
			c = '{'
		}
		b = append(appendString(append(b, c), fields[i].name), ':')
		if b, err = appendJSON(b, fields[i].value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendList(b []byte, list []any) (_ []byte, err error) {
	b = append(b, '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendJSON(b, item); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}
