package view

import (
	"iter"
	"slices"
	"strings"
)

// Content is the body of an answer.
type Content struct {
	MediaType string
	// Size is the length of all pieces together, in bytes.
	Size int
	// Pieces are the body, in order. They can be read more than once.
	Pieces iter.Seq[string]
}

// joined makes the content that consists of these pieces.
func joined(mediaType string, pieces ...string) Content {
	size := 0
	for _, p := range pieces {
		size += len(p)
	}
	return Content{mediaType, size, slices.Values(pieces)}
}

// streamed makes the content of pieces that are made while they are read.
func streamed(mediaType string, pieces iter.Seq[string]) Content {
	size := 0
	for p := range pieces {
		size += len(p)
	}
	return Content{mediaType, size, pieces}
}

// Text returns the body in one piece.
func (c Content) Text() string {
	var b strings.Builder
	b.Grow(c.Size)
	for piece := range c.Pieces {
		b.WriteString(piece)
	}
	return b.String()
}
