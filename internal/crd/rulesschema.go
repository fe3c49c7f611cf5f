package crd

import (
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiserver/pkg/cel/common"
)

// knownSchema is a schema as CEL sees it. It makes the schemas below it once.
type knownSchema struct {
	model.Structural

	once       sync.Once
	properties map[string]common.Schema
	items      common.Schema
	values     common.SchemaOrBool
}

// known makes the schemas below.
func (s *knownSchema) known() *knownSchema {
	s.once.Do(func() {
		of := s.Structural.Structural
		if of.Properties != nil {
			s.properties = make(map[string]common.Schema, len(of.Properties))
			for name, property := range of.Properties {
				s.properties[name] = &knownSchema{Structural: model.Structural{Structural: &property}}
			}
		}
		if of.Items != nil {
			s.items = &knownSchema{Structural: model.Structural{Structural: of.Items}}
		}
		if v := of.AdditionalProperties; v != nil {
			values := &knownValues{StructuralOrBool: model.StructuralOrBool{StructuralOrBool: v}}
			if v.Structural != nil {
				values.schema = &knownSchema{Structural: model.Structural{Structural: v.Structural}}
			}
			s.values = values
		}
	})
	return s
}

// Properties implements common.Schema. Nobody changes the map.
func (s *knownSchema) Properties() map[string]common.Schema { return s.known().properties }

// Items implements common.Schema.
func (s *knownSchema) Items() common.Schema { return s.known().items }

// AdditionalProperties implements common.Schema.
func (s *knownSchema) AdditionalProperties() common.SchemaOrBool { return s.known().values }

// WithTypeAndObjectMeta implements common.Schema.
func (s *knownSchema) WithTypeAndObjectMeta() common.Schema {
	whole := model.WithTypeAndObjectMeta(s.Structural.Structural)
	if whole == s.Structural.Structural {
		return s
	}
	return &knownSchema{Structural: model.Structural{Structural: whole}}
}

// knownValues is the schema of the values of a map.
type knownValues struct {
	model.StructuralOrBool
	schema common.Schema
}

// Schema implements common.SchemaOrBool.
func (v *knownValues) Schema() common.Schema { return v.schema }
