package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// inOneOrder returns a value of a custom resource in which lists whose order has no meaning are sorted: those
// of x-kubernetes-list-type set and map. An operator may write them in a random order.
func inOneOrder(value any, schema *apiextensionsv1.JSONSchemaProps) any {
	if schema == nil {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		ordered := make(map[string]any, len(value))
		for name, field := range value {
			below, known := schema.Properties[name]
			if !known && schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
				below = *schema.AdditionalProperties.Schema
			}
			ordered[name] = inOneOrder(field, &below)
		}
		return ordered
	case []any:
		ordered := slices.Clone(value)
		if schema.Items != nil {
			for i, item := range ordered {
				ordered[i] = inOneOrder(item, schema.Items.Schema)
			}
		}
		if kind := schema.XListType; kind != nil && *kind != "atomic" {
			slices.SortStableFunc(ordered, func(a, b any) int { return cmp.Compare(keysOf(a, schema.XListMapKeys), keysOf(b, schema.XListMapKeys)) })
		}
		return ordered
	}
	return value
}

// keysOf returns the keys of an item of a map list, or the whole item of a set.
func keysOf(item any, keys []string) string {
	fields, isMap := item.(map[string]any)
	if !isMap || len(keys) == 0 {
		return fmt.Sprint(item)
	}
	var text strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&text, "%v\x00", fields[key])
	}
	return text.String()
}
