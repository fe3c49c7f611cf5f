package crd

import (
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	"github.com/fakecluster/fakecluster/internal/content"
	"github.com/fakecluster/fakecluster/internal/fields"
	"github.com/fakecluster/fakecluster/internal/schema"
)

// compiledSchemas remembers schemas by their text.
var compiledSchemas = content.NewCache[content.ID, *compiledSchema](1024)

// compiledSchema is the schema of one version, compiled. It is immutable and safe for
// concurrent use.
type compiledSchema struct {
	structural *structuralschema.Structural // nil: everything may be there
	validator  validation.SchemaValidator
	status     validation.SchemaValidator // nil: no schema for .status
	rules      *cel.Validator

	// node is the whole of it as one tree, statusNode that of .status; the latter is nil
	// if there is no schema for it.
	node, statusNode *schema.Node
	// owned says how fields are owned.
	owned func() *fields.Tree
}

// cachedSchema compiles a schema unless it is remembered; id names its text.
func cachedSchema(id content.ID, props *apiextensions.JSONSchemaProps, preserveUnknown bool) (*compiledSchema, error) {
	if s, ok := compiledSchemas.Get(id); ok {
		return s, nil
	}
	s, err := compileSchema(props, preserveUnknown)
	if err != nil {
		return nil, err
	}
	return compiledSchemas.Put(id, s, 1), nil
}

// compileSchema compiles the schema of one version; nil means none is given.
// Defaults of metadata that pruning would drop go from the compiled schema, as
// they go from requests.
func compileSchema(props *apiextensions.JSONSchemaProps, preserveUnknown bool) (*compiledSchema, error) {
	props = asInJSON(props)
	s := &compiledSchema{}
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
	if s.validator, _, err = validation.NewSchemaValidator(props); err != nil {
		return nil, fmt.Errorf("compiling schema: %w", err)
	}
	s.node = schema.Compile(s.structural, props)
	s.owned = sync.OnceValue(func() *fields.Tree { return s.ownedTree(props, preserveUnknown) })
	if props != nil {
		if status, ok := props.Properties["status"]; ok {
			if s.status, _, err = validation.NewSchemaValidator(&status); err != nil {
				return nil, fmt.Errorf("compiling schema of status: %w", err)
			}
			if s.statusNode = s.node.Properties["status"]; s.statusNode == nil {
				s.statusNode = schema.Compile(nil, &status)
			}
		}
	}
	s.rules = newRules(s.structural)
	return s, nil
}

// asInJSON is a schema as reading it from the store gives it. In protobuf,
// additionalProperties can have a schema and say that they are not allowed; in JSON,
// which definitions are stored in, what has a schema is allowed.
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
