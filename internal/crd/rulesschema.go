package crd

import (
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiserver/pkg/cel/common"
)

// celSchema is a schema for CEL. It creates the schemas below it once.
type celSchema struct {
	model.Structural

	once       sync.Once
	properties map[string]common.Schema
	items      common.Schema
	values     common.SchemaOrBool
}

// expand creates the schemas below.
func (s *celSchema) expand() *celSchema {
	s.once.Do(func() {
		structural := s.Structural.Structural
		if structural.Properties != nil {
			s.properties = make(map[string]common.Schema, len(structural.Properties))
			for name, property := range structural.Properties {
				s.properties[name] = &celSchema{Structural: model.Structural{Structural: &property}}
			}
		}
		if structural.Items != nil {
			s.items = &celSchema{Structural: model.Structural{Structural: structural.Items}}
		}
		if v := structural.AdditionalProperties; v != nil {
			values := &celValues{StructuralOrBool: model.StructuralOrBool{StructuralOrBool: v}}
			if v.Structural != nil {
				values.schema = &celSchema{Structural: model.Structural{Structural: v.Structural}}
			}
			s.values = values
		}
	})
	return s
}

// Properties implements common.Schema. The map must not be altered.
func (s *celSchema) Properties() map[string]common.Schema { return s.expand().properties }

// Items implements common.Schema.
func (s *celSchema) Items() common.Schema { return s.expand().items }

// AdditionalProperties implements common.Schema.
func (s *celSchema) AdditionalProperties() common.SchemaOrBool { return s.expand().values }

// WithTypeAndObjectMeta implements common.Schema.
func (s *celSchema) WithTypeAndObjectMeta() common.Schema {
	whole := model.WithTypeAndObjectMeta(s.Structural.Structural)
	if whole == s.Structural.Structural {
		return s
	}
	return &celSchema{Structural: model.Structural{Structural: whole}}
}

// celValues is the schema of the values of a map.
type celValues struct {
	model.StructuralOrBool
	schema common.Schema
}

// Schema implements common.SchemaOrBool.
func (v *celValues) Schema() common.Schema { return v.schema }
