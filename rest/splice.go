package rest

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// withResourceVersion is the JSON of an object with the resourceVersion of a
// revision in place of the one it has. It must have one.
func withResourceVersion(text string, revision int64) string {
	was := gjson.Get(text, "metadata.resourceVersion")
	if was.Index == 0 {
		return text
	}
	return text[:was.Index] + `"` + strconv.FormatInt(revision, 10) + `"` + text[was.Index+len(was.Raw):]
}

// redefinedSince tells whether a definition's spec or names differ between two
// of its states.
func redefinedSince(was, is string) bool {
	for _, path := range []string{"metadata.generation", "status.acceptedNames"} {
		if gjson.Get(was, path).Raw != gjson.Get(is, path).Raw {
			return true
		}
	}
	return false
}
