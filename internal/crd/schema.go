package crd

import (
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/fields"
	"github.com/fakecluster/fakecluster/internal/schema"
)

// compiledSchemas caches compiled schemas by their JSON.
var compiledSchemas = cache.New[cache.ID, *compiledSchema](1024)

// compiledSchema is the schema of one version, compiled. It is immutable and safe for
// concurrent use.
type compiledSchema struct {
	structural *structuralschema.Structural // nil: every field is allowed
	// validator returns upstream's validator, and status the one for .status, or nil if that has no schema. The first
	// call creates it, for an object that the tree does not accept, because it is larger than everything else of a
	// schema.
	validator, status func() validation.SchemaValidator
	// rules returns the CEL rules, which the first call compiles; nil: there are none.
	rules func() *rules
	// uncompiled reports whether the first call of rules is yet to come and takes long; nil: it does not.
	uncompiled func() bool

	// node is the schema as a tree, and statusNode the part for .status; nil if that has no schema.
	node, statusNode *schema.Node
	// explained returns the single rules, for explanations.
	explained func() []oneRule
	// owned returns the tree for field ownership.
	owned func() *fields.Tree
}

// mayHave reports whether an object may have a top-level field.
func (s *compiledSchema) mayHave(field string) bool {
	if s.structural == nil || s.structural.XPreserveUnknownFields {
		return true
	}
	_, has := s.structural.Properties[field]
	return has
}

// cachedSchema returns a compiled schema from the cache, or compiles it; id is the hash of its JSON.
func cachedSchema(id cache.ID, props *apiextensions.JSONSchemaProps, preserveUnknown bool) (*compiledSchema, error) {
	return compiledSchemas.Make(id, 1, func() (*compiledSchema, error) { return compileSchema(props, preserveUnknown) })
}

// compileSchema compiles the schema of a version; nil means no schema. As upstream does, it drops defaults of metadata
// that pruning would drop.
func compileSchema(props *apiextensions.JSONSchemaProps, preserveUnknown bool) (*compiledSchema, error) {
	props = asInJSON(props)
	s := &compiledSchema{status: func() validation.SchemaValidator { return nil }}
	var err error
	if props != nil {
		s.structural, err = structuralschema.NewStructural(props)
		switch {
		case err != nil && !preserveUnknown:
			return nil, fmt.Errorf("schema is not structural: %w", err)
		case err != nil:
			s.structural = nil
		case !preserveUnknown:
			s.structural = s.structural.DeepCopy()
			if err := defaulting.PruneDefaults(s.structural); err != nil {
				return nil, fmt.Errorf("pruning defaults: %w", err)
			}
		}
	}
	s.validator = lazyValidator(props)
	s.node = schema.Compile(s.structural, props)
	s.owned = sync.OnceValue(func() *fields.Tree { return s.ownedTree(props, preserveUnknown) })
	if props != nil {
		if status, ok := props.Properties["status"]; ok {
			s.status = lazyValidator(&status)
			if s.statusNode = s.node.Properties["status"]; s.statusNode == nil {
				s.statusNode = schema.Compile(nil, &status)
			}
		}
	}
	s.rules, s.uncompiled = lazyRules(s.structural)
	s.explained = sync.OnceValue(func() []oneRule { return rulesOneByOne(s.structural) })
	return s, nil
}

// lazyValidator returns a function that returns the validator of a schema.
func lazyValidator(props *apiextensions.JSONSchemaProps) func() validation.SchemaValidator {
	return sync.OnceValue(func() validation.SchemaValidator {
		validator, _, err := validation.NewSchemaValidator(props)
		if err != nil {
			panic(fmt.Errorf("a schema without a validator: %w", err)) // upstream's conversion of a schema has no error
		}
		return validator
	})
}

// asInJSON returns a schema as it would be decoded from the store. In protobuf, additionalProperties can have both a
// schema and Allows: false. Definitions are stored as JSON, where a schema means that they are allowed.
func asInJSON(props *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	isOdd := func(s *apiextensions.JSONSchemaProps) bool {
		a := s.AdditionalProperties
		return a != nil && a.Schema != nil && !a.Allows
	}
	if !apiextensionsvalidation.SchemaHas(props, isOdd) {
		return props
	}
	props = props.DeepCopy()
	apiextensionsvalidation.SchemaHas(props, func(s *apiextensions.JSONSchemaProps) bool {
		if isOdd(s) {
			s.AdditionalProperties.Allows = true
		}
		return false
	})
	return props
}
