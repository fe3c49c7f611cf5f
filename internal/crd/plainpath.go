package crd

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// plainPaths matches JSON paths that consist of names only, and whose names have no other
// meaning in gjson, which takes a number for an index, for example.
var plainPaths = regexp.MustCompile(`^(\.[A-Za-z_][A-Za-z0-9_-]*)+$`)

// plainPath returns a JSON path in the syntax of gjson, or the empty text if it may mean
// something else there.
func plainPath(jsonPath string) string {
	if !plainPaths.MatchString(jsonPath) {
		return ""
	}
	return jsonPath[1:]
}

// ReadField implements resource.Codec, for plain paths and for values that print as they
// are written.
func (c *codec) ReadField(text, field string) (value string, ok bool) {
	for _, f := range c.selectable {
		if f.name != field || f.names == "" {
			continue
		}
		switch found := gjson.Get(text, f.names); found.Type {
		case gjson.String, gjson.True, gjson.False:
			return found.String(), true
		case gjson.Number:
			return found.Raw, isPlainInteger(found.Raw)
		case gjson.Null:
			return "", true // also if there is no such field
		}
		return "", false
	}
	return "", false
}

// isPlainInteger reports whether decoding and printing a number gives the same text.
func isPlainInteger(raw string) bool {
	digits := strings.TrimPrefix(raw, "-")
	if digits == "" || len(digits) > 18 || digits[0] == '0' && raw != "0" {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}
