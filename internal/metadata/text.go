package metadata

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Find returns the metadata in the JSON of an object.
func Find(text string) gjson.Result { return gjson.Get(text, "metadata") }

// Get returns the value at a path below the metadata. Unlike gjson.Get(text, "metadata.labels"), it does not search the
// rest of the object, which may be large, for a field that the metadata does not have. The Index of the result is
// undefined.
func Get(text, path string) gjson.Result {
	if from, ok := begin(text); ok {
		return gjson.Get(from, path) // it stops where the metadata ends
	}
	return Find(text).Get(path)
}

// begin returns the JSON of an object from the beginning of its metadata. ok is false if anything but the apiVersion and
// the kind comes before, as they do in stored objects.
func begin(text string) (from string, ok bool) {
	rest, ok := strings.CutPrefix(text, `{"`)
	for range 2 {
		name, after, isText := strings.Cut(rest, `":"`)
		value, next, more := strings.Cut(after, `","`)
		if !isText || !more || name == "metadata" || !isPlain(name) || !isPlain(value) {
			return "", false
		}
		rest = next
	}
	from, found := strings.CutPrefix(rest, `metadata":`)
	return from, ok && found && strings.HasPrefix(from, "{")
}

// isPlain reports whether a part of JSON is the inside of a text without escapes.
func isPlain(part string) bool { return !strings.ContainsAny(part, `"\`) }
