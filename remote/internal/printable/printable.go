// Code generated from internal/printable/printable.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

// Package printable makes texts of clients safe to print. A terminal obeys escape sequences in names, paths, user agents
// and messages: it changes colors, deletes lines, sets its title. Everything that fakecluster prints about requests,
// objects and scenarios passes through [Text]: the log of a failed test, findings, explanations, the String methods of
// public types, reports of scenarios, the errors of the command. Data is not changed: responses, recorded scenarios, the
// fields of public types.
//
// [Count] prints a number with its noun, such as 2 requests.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns the text with its control characters escaped as Go and JSON escape them, such as \u001b. It
// keeps newlines and tabs, and escapes bytes that are not UTF-8 and the characters that change the direction
// of text. A text without any of them is returned as it is.
func Text(text string) string {
	index := strings.IndexFunc(text, isUnsafe)
	if index < 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text[:index])
	for index < len(text) {
		r, size := utf8.DecodeRuneInString(text[index:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[index])
		case r == '\r':
			b.WriteString(`\r`)
		case isUnsafe(r) && r != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		index += size
	}
	return b.String()
}

// isUnsafe reports whether a terminal may obey a character. It is true for bytes that are not UTF-8, which a
// range shows as U+FFFD.
func isUnsafe(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}
