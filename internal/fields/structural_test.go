package fields

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fakecluster/fakecluster/internal/schema"
)

func compiled(s *structuralschema.Structural) *schema.Node {
	n := &schema.Node{Type: s.Type, IntOrString: s.XIntOrString, Nullable: s.Nullable, PreserveUnknown: s.XPreserveUnknownFields,
		Embedded: s.XEmbeddedResource, Default: s.Default.Object, AtomicMap: s.XMapType != nil && *s.XMapType == "atomic"}
	if s.XListType != nil {
		switch *s.XListType {
		case "set":
			n.List = schema.Set
		case "map":
			n.List, n.Keys = schema.MapList, s.XListMapKeys
		}
	}
	if len(s.Properties) > 0 {
		n.Properties = map[string]*schema.Node{}
		for name, p := range s.Properties {
			n.Properties[name] = compiled(&p)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		n.Additional = compiled(s.AdditionalProperties.Structural)
	}
	if s.Items != nil {
		n.Items = compiled(s.Items)
	}
	return n
}
