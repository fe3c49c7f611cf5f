package release

import (
	"reflect"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/kube-openapi/pkg/util"

	"github.com/fakecluster/fakecluster/internal/cache"
)

// LaterFields are the later fields of a Go type and of the types in it. A nil *LaterFields has none. It is safe for
// concurrent use.
type LaterFields struct {
	root   *node
	names  []string // of all later fields, for a first look
	always []string // the later fields of the type itself that encoding/json writes even if they are empty: structs
}

// node is a struct or a map in a type.
type node struct {
	fields map[string]*field // of a struct, by JSON name: later ones, and those with later ones below
	each   *node             // of a map: its values
}

// field is a field of a struct. The fields of a struct that is inlined are those of the outer one.
type field struct {
	index  []int
	later  bool
	always bool  // encoding/json writes the later field even if it is empty
	below  *node // nil: there are none
}

// laterFields keeps the LaterFields of types. A server has some 200 types.
var laterFields = cache.New[reflect.Type, *LaterFields](512)

// LaterFieldsOf returns the later fields of the type of an object; nil if the process has the newest release.
func LaterFieldsOf(obj any) *LaterFields {
	if own() == nil {
		return nil
	}
	t := reflect.TypeOf(obj)
	if fields, found := laterFields.Get(t); found {
		return fields
	}
	return laterFields.Put(t, own().fieldsOf(t), 1)
}

// fieldsOf returns the LaterFields of a type.
func (a *api) fieldsOf(t reflect.Type) *LaterFields {
	r := &reader{api: a, nodes: map[reflect.Type]*node{}, names: map[string]bool{}}
	root := r.read(t)
	for drop := true; drop; { // a type may contain itself
		drop = false
		for _, n := range r.nodes {
			drop = n.dropEmpty() || drop
		}
	}
	if len(r.names) == 0 {
		return nil
	}
	fields := &LaterFields{root: root}
	for name := range r.names {
		fields.names = append(fields.names, name)
	}
	for name, f := range root.fields {
		if f.later && f.always {
			fields.always = append(fields.always, name)
		}
	}
	slices.Sort(fields.always)
	return fields
}

// reader reads types.
type reader struct {
	api   *api
	nodes map[reflect.Type]*node
	names map[string]bool
}

// read returns the node of a type; nil: it has no fields.
func (r *reader) read(t reflect.Type) *node {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return r.read(t.Elem())
	case reflect.Map, reflect.Struct:
	default:
		return nil
	}
	if n, found := r.nodes[t]; found {
		return n
	}
	n := &node{}
	r.nodes[t] = n
	if t.Kind() == reflect.Map {
		n.each = r.read(t.Elem())
		return n
	}
	n.fields = map[string]*field{}
	r.readFields(t, r.api.laterFields(util.GetCanonicalTypeName(reflect.New(t).Interface())), nil, n.fields)
	return n
}

// readFields adds the fields of a struct at an index.
func (r *reader) readFields(t reflect.Type, later map[string]bool, outer []int, into map[string]*field) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		index := append(append([]int{}, outer...), i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")) && f.Type.Kind() == reflect.Struct:
			r.readFields(f.Type, later, index, into)
		case later[name]:
			into[name] = &field{index: index, later: true, always: f.Type.Kind() == reflect.Struct && !strings.Contains(options, "omitzero")}
			r.names[name] = true
		default:
			into[name] = &field{index: index, below: r.read(f.Type)}
		}
	}
}

// isEmpty reports whether a node has no later fields, and there are none below it.
func (n *node) isEmpty() bool { return n == nil || len(n.fields) == 0 && n.each == nil }

// dropEmpty drops the nodes without later fields below them, and reports whether there were any. The node of a recursive
// type stays, which does no harm.
func (n *node) dropEmpty() bool {
	dropped := false
	for name, f := range n.fields {
		if !f.later && f.below.isEmpty() {
			delete(n.fields, name)
			dropped = true
		}
	}
	if n.each != nil && n.each.isEmpty() {
		n.each, dropped = nil, true
	}
	return dropped
}

// Prune drops the later fields of an object, which must be of the type and belong to the caller.
func (f *LaterFields) Prune(obj any) {
	if f != nil {
		f.root.prune(reflect.ValueOf(obj))
	}
}

// Omit removes the empty later fields that encoding/json has written from the JSON of a pruned object.
func (f *LaterFields) Omit(text string) string {
	if f == nil {
		return text
	}
	for _, name := range f.always {
		value := gjson.Get(text, name)
		head := `,"` + name + `":`
		if from := value.Index - len(head); value.Exists() && from > 0 {
			text = text[:from] + text[value.Index+len(value.Raw):]
		}
	}
	return text
}

// OmitFrom is Omit for JSON as a map, which it alters.
func (f *LaterFields) OmitFrom(obj map[string]any) {
	if f == nil {
		return
	}
	for _, name := range f.always {
		delete(obj, name)
	}
}

func (n *node) prune(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			n.prune(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			n.prune(v.Index(i))
		}
	case reflect.Map:
		n.pruneMap(v)
	case reflect.Struct:
		for _, f := range n.fields {
			switch value := v.FieldByIndex(f.index); {
			case f.later:
				value.SetZero()
			default:
				f.below.prune(value)
			}
		}
	}
}

// pruneMap prunes the values of a map, which cannot be altered in place.
func (n *node) pruneMap(v reflect.Value) {
	if n.each == nil {
		return
	}
	for _, key := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		n.each.prune(value)
		v.SetMapIndex(key, value)
	}
}
