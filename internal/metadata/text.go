package metadata

import "github.com/tidwall/gjson"

// Of returns the metadata in the JSON of an object. To look for a field that may be missing,
// write Of(text).Get("labels"), not gjson.Get(text, "metadata.labels"): where metadata does not
// have the field, that path goes on to search the rest of the object, which may be large.
func Of(text string) gjson.Result { return gjson.Get(text, "metadata") }
