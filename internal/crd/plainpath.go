package crd

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// plainPaths matches JSON paths of names that have no other meaning in gjson, where a number is an index, for example.
var plainPaths = regexp.MustCompile(`^(\.[A-Za-z_][A-Za-z0-9_-]*)+$`)

// plainPath returns a JSON path in the syntax of gjson; empty: it may have another meaning there.
func plainPath(jsonPath string) string {
	if !plainPaths.MatchString(jsonPath) {
		return ""
	}
	return jsonPath[1:]
}

// ReadField implements resource.Codec for plain paths, and for values whose text is not changed by decoding and
// printing.
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
			return "", true // as for a missing field
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
