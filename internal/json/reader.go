package json

import "unicode/utf8"

// Reader reads plain JSON value by value, for a caller that expects certain types. [Decode]
// defines plain JSON. Each method reads one value. Once a method has returned false,
// the reader must not be used any more. Strings are parts of the text.
type Reader struct {
	text   string
	offset int
	depth  int
}

// NewReader makes a reader at the beginning of a text.
func NewReader(text string) *Reader { return &Reader{text: text} }

// Peek returns the first byte of the next value, or 0 at the end of the text.
func (d *Reader) Peek() byte {
	d.space()
	if d.offset >= len(d.text) {
		return 0
	}
	return d.text[d.offset]
}

// Null reads null.
func (d *Reader) Null() bool { return d.Peek() == 'n' && d.literal("null") }

// Bool reads true or false.
func (d *Reader) Bool() (value, ok bool) {
	if d.Peek() == 't' {
		return true, d.literal("true")
	}
	return false, d.literal("false")
}

// String reads a string.
func (d *Reader) String() (string, bool) {
	if d.Peek() != '"' {
		return "", false
	}
	return d.string()
}

// Object reads an object. It calls field to read the value of each field; field returns
// false if it cannot. The caller has to check for duplicate fields itself.
func (d *Reader) Object(field func(name string) bool) bool {
	return d.each('{', '}', func() bool {
		name, ok := d.String()
		return ok && d.next(':') && field(name)
	})
}

// List reads a list. It calls item to read each item; item returns false if it cannot.
func (d *Reader) List(item func() bool) bool { return d.each('[', ']', item) }

// each reads values between two brackets, with commas between them.
func (d *Reader) each(open, closing byte, one func() bool) bool {
	if d.Peek() != open || d.depth > maxPlainDepth {
		return false
	}
	d.offset++
	if d.next(closing) {
		return true
	}
	d.depth++
	for {
		if !one() {
			return false
		}
		if d.next(closing) {
			d.depth--
			return true
		}
		if !d.next(',') {
			return false
		}
	}
}

// Number reads a number and returns its text.
func (d *Reader) Number() (string, bool) {
	d.space()
	from := d.offset
	_, ok := d.number()
	return d.text[from:d.offset], ok
}

// Raw reads any value and returns its text. It does not check for duplicate fields.
func (d *Reader) Raw() (string, bool) {
	d.space()
	from := d.offset
	ok := d.skip()
	return d.text[from:d.offset], ok
}

// skip reads any value and drops it.
func (d *Reader) skip() bool {
	switch d.Peek() {
	case '{':
		return d.each('{', '}', func() bool { return d.skipString() && d.next(':') && d.skip() })
	case '[':
		return d.each('[', ']', d.skip)
	case '"':
		return d.skipString()
	case 't', 'f':
		_, ok := d.Bool()
		return ok
	case 'n':
		return d.Null()
	}
	_, ok := d.number()
	return ok
}

func (d *Reader) skipString() bool {
	if d.Peek() != '"' {
		return false
	}
	d.offset++
	from := d.offset
	for ; d.offset < len(d.text); d.offset++ {
		switch c := d.text[d.offset]; {
		case c == '"':
			d.offset++
			return utf8.ValidString(d.text[from : d.offset-1])
		case c == '\\':
			if d.offset++; d.offset == len(d.text) {
				return false
			}
			if d.text[d.offset] == 'u' {
				d.offset++
				if _, ok := d.hex(); !ok {
					return false
				}
				d.offset--
			} else if escapes[d.text[d.offset]] == 0 {
				return false
			}
		case c < ' ':
			return false
		}
	}
	return false
}

// End reports whether nothing follows.
func (d *Reader) End() bool { return d.Peek() == 0 && d.offset == len(d.text) }
