package generate

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// text returns a value as JSON. Now and then the text is broken in a way that a client's library would not break it.
func (r Source) text(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(r.chance(20))
	if encoder.Encode(value) != nil {
		return "null"
	}
	text := strings.TrimSuffix(b.String(), "\n")
	text = unquoted.ReplaceAllString(text, "$1")
	if r.chance(4) {
		return r.broken(text)
	}
	return text
}

// broken returns JSON with a fault of its text.
func (r Source) broken(text string) string {
	comma := strings.Index(text, ",")
	switch r.IntN(8) {
	case 0: // cut off
		return text[:r.IntN(len(text)+1)]
	case 1:
		return text + pick(r, " ", "x", "{}", "\n---\n{}", "\x00")
	case 2: // the first field stands twice
		if comma > 1 && text[0] == '{' {
			return text[:comma+1] + text[1:]
		}
	case 3: // a field stands again at the end
		if last := strings.LastIndex(text, "}"); last > 1 {
			return text[:last] + pick(r, `,"metadata":{}`, `,"kind":"Nope"`, `,"spec":null`, `,"Metadata":{"name":"x"}`) + text[last:]
		}
	case 4:
		return strings.Replace(text, ":", pick(r, ":01,\"x\":", ":NaN,\"x\":", ":+1,\"x\":", ":'x',\"x\":", ":/* */"), 1)
	case 5: // an escape of half a character, or bytes that are not UTF-8
		return strings.Replace(text, `":"`, pick(r, `":"\ud800`, "\":\"\xff", `":"\u00e9`, `":"\/`, "\":\"\t"), 1)
	case 6:
		return pick(r, "null", "[]", "{}", `""`, "0", "[null]", "[{}]", "{", "")
	}
	return pick(r, "\ufeff", " \n", "//\n", "# x\n") + text
}

// query returns the query of a write.
func (r Source) query(more ...string) string {
	words := more
	if r.chance(60) {
		words = append(words, "fieldManager="+pick(r, "m1", "m2", "m3", "m1", "m2", "m3", "", "%C3%A9"))
	}
	if r.chance(30) {
		words = append(words, "fieldValidation="+pick(r, "Strict", "Warn", "Ignore", "Strict", "Nope"))
	}
	if r.chance(10) {
		words = append(words, "dryRun="+pick(r, "All", "All", "All", "", "Nope"))
	}
	if len(words) == 0 {
		return ""
	}
	return "?" + strings.Join(words, "&")
}

// escape escapes an element of a JSON pointer.
func escape(element string) string {
	return strings.ReplaceAll(strings.ReplaceAll(element, "~", "~0"), "/", "~1")
}

// asMerge returns the changes as a merge patch.
func asMerge(changes []change) any {
	var patch any = map[string]any{}
	for _, c := range changes {
		patch = set(patch, c)
	}
	return patch
}

// asStrategic returns the changes as a strategic merge patch: items of lists that have a key know it, and some directives are odd.
func (r Source) asStrategic(changes []change) any {
	patch := asMerge(changes)
	return r.direct(patch)
}

// direct adds directives of strategic merge patches to a patch, and keys to the items of its lists.
func (r Source) direct(value any) any {
	switch value := value.(type) {
	case map[string]any:
		fields := maps.Clone(value)
		for name, v := range value {
			fields[name] = r.direct(v)
			if list, ok := v.([]any); ok && r.chance(15) {
				directive := pick(r, "$setElementOrder/", "$deleteFromPrimitiveList/")
				fields[directive+name] = pick[any](r, list, []any{}, []any{"a"}, []any{map[string]any{"name": "a"}}, nil, "a")
				if directive == "$deleteFromPrimitiveList/" {
					delete(fields, name) // which of both comes first is chance
				}
			}
		}
		if r.chance(6) {
			fields["$patch"] = pick[any](r, "replace", "delete", "merge", "nope", "", nil, 1)
		}
		if r.chance(4) {
			fields["$retainKeys"] = pick[any](r, []any{}, []any{"name"}, []any{"a", "type"}, []any{1}, nil, "a")
		}
		return fields
	case []any:
		list := []any{}
		for _, v := range value {
			list = append(list, r.direct(v))
		}
		if r.chance(10) {
			list = append(list, map[string]any{"$patch": pick(r, "replace", "delete")})
		}
		return list
	}
	return value
}

// asOperations returns the changes as a JSON patch of the current object.
func (r Source) asOperations(current map[string]any, changes []change) any {
	operations := []any{}
	for _, c := range changes {
		c.path = r.within(current, c.path)
		pointer := c.pointer()
		op := map[string]any{"op": pick(r, "add", "add", "add", "replace", "replace", "remove", "test", "move", "copy", "nope"), "path": pointer, "value": c.value}
		switch op["op"] {
		case "remove":
			delete(op, "value")
		case "move", "copy":
			delete(op, "value")
			if op["from"] = r.existing(current); strings.HasPrefix(op["from"].(string), "/metadata") {
				op["from"] = "/metadata/name" // nothing that a server has made, which would show in messages
			}
		case "test":
			if r.chance(70) {
				op["path"] = r.existing(current)
				op["value"] = valueAt(current, op["path"].(string))
			}
		}
		if r.chance(4) {
			delete(op, pick(r, "op", "path", "value", "from"))
		}
		operations = append(operations, op)
	}
	if r.chance(2) {
		return pick[any](r, map[string]any{}, nil, []any{nil}, []any{[]any{}})
	}
	return operations
}

// within cuts a path off behind the first element that the object does not have, mostly, because an operation below would fail.
func (r Source) within(current any, path []string) []string {
	if r.chance(20) {
		return path
	}
	for i, element := range path {
		switch value := current.(type) {
		case map[string]any:
			current = value[element]
		case []any:
			if n, err := strconv.Atoi(element); err != nil || n >= len(value) {
				return append(append([]string{}, path[:i]...), "-")
			}
			n, _ := strconv.Atoi(element)
			current = value[n]
		default:
			return path[:i]
		}
	}
	return path
}

// existing returns the pointer of something that the object has.
func (r Source) existing(current any) string {
	pointer := ""
	for depth := 1 + r.IntN(5); depth > 0; depth-- {
		switch value := current.(type) {
		case map[string]any:
			names := sorted(value)
			if len(names) == 0 {
				return pointer
			}
			name := pick(r, names...)
			pointer, current = pointer+"/"+escape(name), value[name]
		case []any:
			if len(value) == 0 {
				return pointer
			}
			i := r.IntN(len(value))
			pointer, current = pointer+"/"+strconv.Itoa(i), value[i]
		default:
			return pointer
		}
	}
	return pointer
}

func valueAt(current any, pointer string) any {
	for _, element := range strings.Split(pointer, "/")[1:] {
		element = strings.ReplaceAll(strings.ReplaceAll(element, "~1", "/"), "~0", "~")
		switch value := current.(type) {
		case map[string]any:
			current = value[element]
		case []any:
			i, _ := strconv.Atoi(element)
			current = value[i]
		}
	}
	return current
}

// patch returns a random patch of an object. Path is its path, with a subresource; head has apiVersion, kind and metadata.name for an apply.
func (r Source) patch(path string, head, current map[string]any, changes []change, strategic bool) play.Step {
	step := play.Step{Method: "PATCH", Path: path}
	switch r.IntN(4) {
	case 0:
		step.Type, step.Body = play.MergePatch, r.text(asMerge(changes))
	case 1:
		step.Type, step.Body = play.JSONPatch, r.text(r.asOperations(current, changes))
	case 2:
		if !strategic && !r.chance(5) {
			step.Type, step.Body = play.MergePatch, r.text(asMerge(changes))
			break
		}
		step.Type, step.Body = play.StrategicPatch, r.text(r.asStrategic(changes))
	default:
		var body any = head
		for _, c := range changes {
			body = set(body, c)
		}
		words := []string{"fieldManager=" + pick(r, "a1", "a2", "a3")}
		if r.chance(4) {
			words = nil
		}
		if r.chance(40) {
			words = append(words, "force="+pick(r, "true", "true", "true", "false", "maybe"))
		}
		step.Type, step.Body = play.ApplyPatch, r.text(body)
		if r.chance(20) {
			words = append(words, "fieldValidation="+pick(r, "Strict", "Warn", "Ignore"))
		}
		if r.chance(8) {
			words = append(words, "dryRun=All")
		}
		if len(words) > 0 {
			step.Path += "?" + strings.Join(words, "&")
		}
		return step
	}
	step.Path += r.query()
	return step
}
