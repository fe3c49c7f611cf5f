package crd

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// outline is what a schema says of which fields there are and how they are owned.
//
// It is immutable.
type outline struct {
	opaque     bool // say nothing
	preserve   bool // fields that are not named stay
	atomic     bool // a map that belongs to one owner as a whole
	properties map[string]*outline
	additional *outline
	items      *outline
	lists      bool // sets, or lists that are maps, here or below
}

// newOutline is the outline of a schema; nil, of none, leaves nothing as it is.
func newOutline(s *structuralschema.Structural) *outline {
	if s == nil {
		return nil
	}
	o := &outline{
		opaque: s.XEmbeddedResource, preserve: s.XPreserveUnknownFields,
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
	}
	for _, of := range below {
		if of != nil {
			o.lists = o.lists || of.lists
		}
	}
	return o
}
