package view

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// partialMetadata returns the JSON of an object's metadata as PartialObjectMetadata shows it: the JSON of Go's
// ObjectMeta. Typed objects are stored in that form. The metadata of other objects has the same fields in the order of
// their names; partialMetadata puts them into the order of ObjectMeta without decoding them.
//
// This is the fast path of View.partial. ok is false if decoding and encoding would change anything in the metadata: a
// field that ObjectMeta does not have, a value of another type, a time in another format, an empty list.
func partialMetadata(text string, typed bool) (metadataText string, ok bool) {
	metadata := gjson.Get(text, "metadata").Raw
	if metadata == "" || metadata == "{}" {
		return "", false
	}
	if typed {
		return metadata, true
	}
	var b strings.Builder
	b.Grow(len(metadata))
	ok = reorder(&b, metadata, objectMetaFields)
	return b.String(), ok
}

// goField is a field of a Go type, as it is in JSON.
type goField struct {
	name     string
	required bool
	// put appends the value, and reports whether decoding and encoding would not change it.
	put func(b *strings.Builder, value gjson.Result) bool
}

var objectMetaFields = []goField{
	{name: "name", put: putText},
	{name: "generateName", put: putText},
	{name: "namespace", put: putText},
	{name: "selfLink", put: putText},
	{name: "uid", put: putText},
	{name: "resourceVersion", put: putText},
	{name: "generation", required: true, put: putPositive},
	{name: "creationTimestamp", put: putTime},
	{name: "deletionTimestamp", put: putTime},
	{name: "deletionGracePeriodSeconds", put: putCount},
	{name: "labels", put: putTexts},
	{name: "annotations", put: putTexts},
	{name: "ownerReferences", put: putListOf(ownerReferenceFields)},
	{name: "finalizers", put: putFinalizers},
	{name: "managedFields", put: putListOf(managedFieldsFields)},
}

var ownerReferenceFields = []goField{
	{name: "apiVersion", required: true, put: putString},
	{name: "kind", required: true, put: putString},
	{name: "name", required: true, put: putString},
	{name: "uid", required: true, put: putString},
	{name: "controller", put: putBool},
	{name: "blockOwnerDeletion", put: putBool},
}

var managedFieldsFields = []goField{
	{name: "manager", put: putText},
	{name: "operation", put: putText},
	{name: "apiVersion", put: putText},
	{name: "time", put: putTime},
	{name: "fieldsType", put: putText},
	{name: "fieldsV1", put: putObject},
	{name: "subresource", put: putText},
}

// reorder writes an object with its fields in the order of the Go type. It returns false if there is a field that the
// type does not have, or has in another form.
func reorder(b *strings.Builder, object string, fields []goField) bool {
	var values [16]gjson.Result
	found := true
	gjson.Parse(object).ForEach(func(key, value gjson.Result) bool {
		found = false
		for i := range fields {
			if fields[i].name == key.Str {
				values[i], found = value, true
				break
			}
		}
		return found
	})
	if !found {
		return false
	}
	separator := "{"
	for i, field := range fields {
		if values[i].Raw == "" {
			if field.required {
				return false
			}
			continue
		}
		b.WriteString(separator)
		separator = ","
		b.WriteByte('"')
		b.WriteString(field.name)
		b.WriteString(`":`)
		if !field.put(b, values[i]) {
			return false
		}
	}
	if separator == "{" {
		return false
	}
	b.WriteByte('}')
	return true
}

func putRaw(b *strings.Builder, value gjson.Result, ok bool) bool {
	b.WriteString(value.Raw)
	return ok
}

func putString(b *strings.Builder, value gjson.Result) bool {
	return putRaw(b, value, value.Type == gjson.String)
}

// putText is putString for fields that Go leaves out when they are empty.
func putText(b *strings.Builder, value gjson.Result) bool {
	return putRaw(b, value, value.Type == gjson.String && value.Raw != `""`)
}

func putBool(b *strings.Builder, value gjson.Result) bool {
	return putRaw(b, value, value.Type == gjson.True || value.Type == gjson.False)
}

// putCount puts integers that are not negative.
func putCount(b *strings.Builder, value gjson.Result) bool {
	digits := value.Raw != "" && len(value.Raw) <= 18 && strings.Trim(value.Raw, "0123456789") == "" && (value.Raw[0] != '0' || value.Raw == "0")
	return putRaw(b, value, digits)
}

func putPositive(b *strings.Builder, value gjson.Result) bool {
	return putCount(b, value) && value.Raw != "0"
}

// putTime puts times in the format that Go writes them in: 2006-01-02T15:04:05Z.
func putTime(b *strings.Builder, value gjson.Result) bool {
	if value.Type != gjson.String || len(value.Raw) != len(`"2006-01-02T15:04:05Z"`) {
		return false
	}
	t, err := time.Parse(time.RFC3339, value.Str)
	return putRaw(b, value, err == nil && value.Str[len(value.Str)-1] == 'Z' && !t.IsZero())
}

// putTexts puts maps of strings.
func putTexts(b *strings.Builder, value gjson.Result) bool {
	return putRaw(b, value, value.IsObject() && areStrings(value))
}

func putFinalizers(b *strings.Builder, value gjson.Result) bool {
	return putRaw(b, value, value.IsArray() && areStrings(value))
}

// areStrings reports whether an object or a list has values, and strings alone.
func areStrings(value gjson.Result) bool {
	n, ok := 0, true
	value.ForEach(func(_, v gjson.Result) bool {
		n++
		ok = v.Type == gjson.String
		return ok
	})
	return ok && n > 0
}

func putObject(b *strings.Builder, value gjson.Result) bool {
	return putRaw(b, value, value.IsObject())
}

func putListOf(fields []goField) func(b *strings.Builder, value gjson.Result) bool {
	return func(b *strings.Builder, value gjson.Result) bool {
		if !value.IsArray() {
			return false
		}
		separator, ok := "[", true
		value.ForEach(func(_, item gjson.Result) bool {
			b.WriteString(separator)
			separator = ","
			ok = item.IsObject() && reorder(b, item.Raw, fields)
			return ok
		})
		b.WriteByte(']')
		return ok && separator == ","
	}
}
