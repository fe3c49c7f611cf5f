package crd

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// plainPaths are the JSON paths that lead from name to name, and whose names mean
// nothing else to gjson: it would take a number for the place in a list.
var plainPaths = regexp.MustCompile(`^(\.[A-Za-z_][A-Za-z0-9_-]*)+$`)

// plainPath is what a JSON path is for gjson; empty if it may mean something else
// there.
func plainPath(jsonPath string) string {
	if !plainPaths.MatchString(jsonPath) {
		return ""
	}
	return jsonPath[1:]
}

// ReadField implements resource.Codec: for paths from name to name, and values
// that print as they are written.
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

// isPlainInteger tells whether a number is written as one that has been read
// prints.
func isPlainInteger(raw string) bool {
	digits := strings.TrimPrefix(raw, "-")
	if digits == "" || len(digits) > 18 || digits[0] == '0' && raw != "0" {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}
