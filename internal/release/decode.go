package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// unknown is appended to the names of later fields while an object is decoded, so that the decoder treats them as
// unknown fields and reports them in the order of the fields.
const unknown = "\u231b"

// Serializer returns a serializer that does not know the later fields. It returns the given one if there are none.
func (f *LaterFields) Serializer(s runtime.Serializer) runtime.Serializer {
	if f == nil {
		return s
	}
	return serializer{s, f}
}

type serializer struct {
	runtime.Serializer
	later *LaterFields
}

// Decode implements runtime.Serializer.
func (s serializer) Decode(text []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	id := string(s.Identifier())
	var renamed []byte
	var complaint error
	if strings.Contains(id, `"yaml":"true"`) {
		renamed, complaint = s.later.renameYAML(text, strings.Contains(id, `"strict":"true"`))
	} else {
		renamed = s.later.rename(text)
	}
	obj, kind, err := s.Serializer.Decode(renamed, defaults, into)
	if obj != nil {
		LaterFieldsOf(obj).Prune(obj) // those of protobuf, or of another version
	}
	return obj, kind, s.later.Restore(withComplaint(err, complaint))
}

// withComplaint adds an error of the YAML to the error of decoding.
func withComplaint(err, complaint error) error {
	if complaint == nil {
		return err
	}
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return err
	}
	return runtime.NewStrictDecodingError(append([]error{complaint}, strict.Errors()...))
}

// mentions reports whether a text may have later fields.
func (f *LaterFields) mentions(text []byte) bool {
	return slices.ContainsFunc(f.names, func(name string) bool { return bytes.Contains(text, []byte(name)) })
}

// renameYAML is rename for YAML. It returns JSON, which is YAML as well. The complaint is about repeated fields, which
// are lost in the JSON.
func (f *LaterFields) renameYAML(text []byte, strict bool) (renamed []byte, complaint error) {
	if !f.mentions(text) {
		return text, nil
	}
	converted, err := yaml.YAMLToJSON(text)
	if err != nil {
		return text, nil // the serializer words the error
	}
	renamed = f.rename(converted)
	if bytes.Equal(renamed, converted) {
		return text, nil
	}
	if strict {
		_, complaint = yaml.YAMLToJSONStrict(text)
	}
	return renamed, complaint
}

// rename returns JSON with unknown appended to the names of later fields. It returns other text as it is.
func (f *LaterFields) rename(text []byte) []byte {
	if !f.mentions(text) {
		return text
	}
	names := names{decoder: json.NewDecoder(bytes.NewReader(text))}
	if names.value(f.root) != nil || len(names.ends) == 0 {
		return text
	}
	var renamed []byte
	from := 0
	for _, end := range names.ends {
		renamed = append(append(renamed, text[from:end]...), unknown...)
		from = end
	}
	return append(renamed, text[from:]...)
}

// names finds the names of later fields in JSON.
type names struct {
	decoder *json.Decoder
	ends    []int // where each of them ends
}

// value reads a value.
func (s *names) value(n *node) error {
	if n == nil {
		var skipped json.RawMessage
		return s.decoder.Decode(&skipped)
	}
	token, err := s.decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		for s.decoder.More() {
			if err := s.value(n); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		for s.decoder.More() {
			if err := s.member(n); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = s.decoder.Token()
	return err
}

// member reads a name and its value.
func (s *names) member(n *node) error {
	token, err := s.decoder.Token()
	if err != nil {
		return err
	}
	f := n.fields[token.(string)]
	switch {
	case n.each != nil:
		return s.value(n.each)
	case f == nil:
		return s.value(nil)
	case f.later:
		s.ends = append(s.ends, int(s.decoder.InputOffset())-1)
		return s.value(nil)
	}
	return s.value(f.below)
}

// Rename renames the later fields in the JSON of an object, which it alters, as Serializer does. Restore restores the names in the error of
// decoding it.
func (f *LaterFields) Rename(obj map[string]any) {
	if f != nil {
		f.root.rename(obj)
	}
}

func (n *node) rename(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			n.rename(item)
		}
	case map[string]any:
		if n.each != nil {
			for _, item := range value {
				n.each.rename(item)
			}
			return
		}
		for name, f := range n.fields {
			item, found := value[name]
			switch {
			case found && f.later:
				delete(value, name)
				value[name+unknown] = item
			case found:
				f.below.rename(item)
			}
		}
	}
}

// Restore returns an error of decoding with the original names of later fields.
func (f *LaterFields) Restore(err error) error {
	if f == nil || err == nil || !strings.Contains(err.Error(), unknown) {
		return err
	}
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return err
	}
	var errs []error
	for _, e := range strict.Errors() {
		errs = append(errs, errors.New(strings.ReplaceAll(e.Error(), unknown, "")))
	}
	return runtime.NewStrictDecodingError(errs)
}
