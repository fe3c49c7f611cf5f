package crd

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// outline is what a schema says of which fields there are. It can tell of most
// objects, at a glance, that pruning and defaulting would leave them as they are;
// of the others it says nothing.
//
// It is immutable.
type outline struct {
	opaque     bool // say nothing
	preserve   bool // fields that are not named stay
	atomic     bool // a map that belongs to one owner as a whole
	properties map[string]*outline
	additional *outline
	items      *outline
	defaults   []string // the properties that have one

	// embedded and lists tell whether, here or below, there are embedded resources,
	// and lists that are sets or maps.
	embedded, lists bool
}

// newOutline is the outline of a schema; nil, of none, leaves nothing as it is.
func newOutline(s *structuralschema.Structural) *outline {
	if s == nil {
		return nil
	}
	o := &outline{
		opaque: s.XEmbeddedResource, embedded: s.XEmbeddedResource, preserve: s.XPreserveUnknownFields,
		atomic: s.XMapType != nil && *s.XMapType == "atomic",
		lists:  s.XListType != nil && *s.XListType != "atomic",
		items:  newOutline(s.Items),
	}
	below := []*outline{o.items}
	if s.AdditionalProperties != nil {
		o.additional = newOutline(s.AdditionalProperties.Structural)
		o.opaque = o.opaque || o.additional == nil
		below = append(below, o.additional)
	}
	if len(s.Properties) > 0 {
		o.properties = make(map[string]*outline, len(s.Properties))
	}
	for name, property := range s.Properties {
		of := newOutline(&property)
		o.properties[name] = of
		below = append(below, of)
		if property.Default.Object != nil {
			o.defaults = append(o.defaults, name)
		}
	}
	for _, of := range below {
		if of != nil {
			o.embedded, o.lists = o.embedded || of.embedded, o.lists || of.lists
		}
	}
	return o
}

// settles tells whether an object, whose metadata is seen to elsewhere, has no
// field to prune, no null and all defaults.
func (o *outline) settles(obj map[string]any) bool {
	if o == nil || o.opaque || o.properties["metadata"].hasDefaults() || !o.hasItsDefaults(obj) {
		return false
	}
	for name, value := range obj {
		switch name {
		case "apiVersion", "kind", "metadata":
		default:
			if !o.settlesField(name, value) {
				return false
			}
		}
	}
	return true
}

func (o *outline) hasDefaults() bool {
	if o == nil {
		return false
	}
	found := len(o.defaults) > 0 || o.additional.hasDefaults() || o.items.hasDefaults()
	for _, property := range o.properties {
		found = found || property.hasDefaults()
	}
	return found
}

func (o *outline) hasItsDefaults(obj map[string]any) bool {
	for _, name := range o.defaults {
		if _, ok := obj[name]; !ok {
			return false
		}
	}
	return true
}

func (o *outline) settlesField(name string, value any) bool {
	of, ok := o.properties[name]
	if !ok {
		of = o.additional
	}
	if of == nil {
		return o.preserve
	}
	return of.settlesValue(value)
}

func (o *outline) settlesValue(value any) bool {
	if o.opaque {
		return false
	}
	switch value := value.(type) {
	case nil:
		return false
	case map[string]any:
		if !o.hasItsDefaults(value) {
			return false
		}
		for name, v := range value {
			if !o.settlesField(name, v) {
				return false
			}
		}
	case []any:
		for _, item := range value {
			if o.items == nil || !o.items.settlesValue(item) {
				return false
			}
		}
	}
	return true
}
