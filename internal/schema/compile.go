package schema

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// Compile compiles upstream's two forms of a schema into one tree: the structural schema lists the fields, props the
// rules of validation. The tree shares defaults with the structural schema, which must not be altered afterwards.
//
// Either may be nil. Without a structural schema every field is unknown, so an object keeps only its apiVersion, kind
// and metadata. Without props every value is valid.
func Compile(structural *structuralschema.Structural, props *apiextensions.JSONSchemaProps) *Node {
	n := &Node{}
	if structural != nil {
		n.structure(structural)
	}
	if props != nil {
		n.validate(newKeywords(props))
	}
	n.summarize()
	return n
}

// structure copies a structural schema into the node, and the schemas below it.
func (n *Node) structure(s *structuralschema.Structural) {
	n.Type, n.IntOrString, n.Nullable = s.Type, s.XIntOrString, s.Nullable
	n.PreserveUnknown, n.Embedded = s.XPreserveUnknownFields, s.XEmbeddedResource
	n.Default = s.Default.Object
	n.defaultSize = sizeOf(n.Default)
	n.AtomicMap = s.XMapType != nil && *s.XMapType == "atomic"
	if s.XListType != nil {
		switch *s.XListType {
		case "set":
			n.List = Set
		case "map":
			n.List, n.Keys = MapList, s.XListMapKeys
		}
	}
	if len(s.Properties) > 0 {
		n.Properties = make(map[string]*Node, len(s.Properties))
		for name, property := range s.Properties {
			node := &Node{}
			node.structure(&property)
			n.Properties[name] = node
			if node.Default != nil {
				n.defaults = append(n.defaults, name)
			}
		}
	}
	if s.AdditionalProperties != nil {
		if s.AdditionalProperties.Structural != nil {
			n.Additional = &Node{}
			n.Additional.structure(s.AdditionalProperties.Structural)
		} else {
			n.anyFields, n.Closed = true, !s.AdditionalProperties.Bool
		}
	}
	if s.Items != nil {
		n.Items = &Node{}
		n.Items.structure(s.Items)
	}
}

// validate adds the keywords to the nodes of the tree. Both have the same shape if they come from one schema.
func (n *Node) validate(k *keywords) {
	n.keywords = k
	for name, property := range k.properties {
		if n.Properties[name] == nil {
			n.apart = true
			return
		}
		n.Properties[name].validate(property)
	}
	if n.apart = k.additional != nil && n.Additional == nil || k.items != nil && n.Items == nil; n.apart {
		return
	}
	if k.additional != nil {
		n.Additional.validate(k.additional)
	}
	if k.items != nil {
		n.Items.validate(k.items)
	}
}

// summarize sets below of a node and of the nodes below it.
func (n *Node) summarize() {
	n.below = contents{
		defaults: n.Default != nil, embedded: n.Embedded, lists: n.List != Atomic,
		mixed: len(n.Properties) > 0 && n.Additional != nil,
	}
	for _, property := range n.Properties {
		property.summarize()
		n.below = n.below.and(property.below)
	}
	for _, below := range []*Node{n.Additional, n.Items} {
		if below != nil {
			below.summarize()
			n.below = n.below.and(below.below)
		}
	}
}
