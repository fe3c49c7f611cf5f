package view

import (
	"io"
	"iter"
	"strings"
)

// Content is the body of a response.
type Content struct {
	MediaType string
	// Size is the length of the body in bytes.
	Size int
	// The body is text, then pieces, which may be nil, then end. It can be read more than once.
	text, end string
	pieces    iter.Seq[string]
}

// single returns the content of a text and, after it, an end.
func single(mediaType, text, end string) Content {
	return Content{MediaType: mediaType, Size: len(text) + len(end), text: text, end: end}
}

// streamed returns the content of pieces that are made while they are read.
func streamed(mediaType string, pieces iter.Seq[string]) Content {
	size := 0
	for p := range pieces {
		size += len(p)
	}
	return Content{MediaType: mediaType, Size: size, pieces: pieces}
}

// WriteInto writes the body. It stops at an error.
func (c Content) WriteInto(w io.StringWriter) error {
	if err := writeString(w, c.text); err != nil {
		return err
	}
	if c.pieces != nil {
		for p := range c.pieces {
			if err := writeString(w, p); err != nil {
				return err
			}
		}
	}
	return writeString(w, c.end)
}

func writeString(w io.StringWriter, s string) error {
	if s == "" {
		return nil
	}
	_, err := w.WriteString(s)
	return err
}

// Text returns the body in one piece.
func (c Content) Text() string {
	var b strings.Builder
	b.Grow(c.Size)
	_ = c.WriteInto(&b) // a strings.Builder returns no error
	return b.String()
}
