package crd

import (
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// rulePaths is a tree of the nodes of a schema that have rules.
type rulePaths struct {
	rules      int  // number of rules of the node and below, without allOf
	inAllOf    bool // a part of allOf has a rule
	items      *rulePaths
	values     *rulePaths
	properties map[string]*rulePaths
}

// pathsOfRules returns the rulePaths of a schema; nil: it has no rules.
func pathsOfRules(s *structuralschema.Structural) *rulePaths {
	if s == nil {
		return nil
	}
	p := &rulePaths{
		inAllOf: s.ValueValidation != nil && slices.ContainsFunc(s.ValueValidation.AllOf, nestedHasRules),
		items:   pathsOfRules(s.Items),
	}
	if s.AdditionalProperties != nil {
		p.values = pathsOfRules(s.AdditionalProperties.Structural)
	}
	p.rules = len(s.XValidations)
	for _, below := range []*rulePaths{p.items, p.values} {
		if below != nil {
			p.rules += below.rules
		}
	}
	for name, property := range s.Properties {
		if below := pathsOfRules(&property); below != nil {
			p.rules += below.rules
			if p.properties == nil {
				p.properties = map[string]*rulePaths{}
			}
			p.properties[name] = below
		}
	}
	if len(s.XValidations) == 0 && !p.inAllOf && p.items == nil && p.values == nil && p.properties == nil {
		return nil
	}
	return p
}

// nestedHasRules reports whether a part of allOf has rules.
func nestedHasRules(n structuralschema.NestedValueValidation) bool {
	if len(n.XValidations) > 0 || n.Items != nil && nestedHasRules(*n.Items) || slices.ContainsFunc(n.AllOf, nestedHasRules) ||
		n.AdditionalProperties != nil && nestedHasRules(*n.AdditionalProperties) {
		return true
	}
	for _, property := range n.Properties {
		if nestedHasRules(property) {
			return true
		}
	}
	return false
}

// compileRules compiles the rules of a node and of those below it; n is nil if upstream evaluates none of them. ok is
// false if upstream must evaluate all objects, because a rule does not compile or is in allOf. typ is the CEL type of
// the node; nil: it has none.
func compileRules(s *structuralschema.Structural, paths *rulePaths, isRoot bool, typ *apiservercel.DeclType) (n *ruleNode, ok bool) {
	if paths.inAllOf || typ == nil {
		return nil, false
	}
	n = &ruleNode{structural: &celSchema{Structural: model.Structural{Structural: s}}}
	if n.schema = n.structural; isRoot {
		n.schema = n.structural.WithTypeAndObjectMeta()
	}
	if !n.compile(s, typ) {
		return nil, false
	}
	ok = true
	below := func(s *structuralschema.Structural, paths *rulePaths, typ *apiservercel.DeclType) *ruleNode {
		if paths == nil {
			return nil
		}
		child, compiled := compileRules(s, paths, s.XEmbeddedResource, typ)
		ok = ok && compiled
		n.readsOld = n.readsOld || child != nil && child.readsOld
		return child
	}
	n.items = below(s.Items, paths.items, typ.ElemType)
	if s.AdditionalProperties != nil {
		n.values = below(s.AdditionalProperties.Structural, paths.values, typ.ElemType)
	}
	for name, path := range paths.properties {
		property := s.Properties[name]
		its, ok := typeOf(name, &property, typ)
		if !ok {
			continue // upstream ignores rules of nodes without a type
		}
		if child := below(&property, path, its); child != nil {
			n.properties = append(n.properties, ruledProperty{name, child})
		}
	}
	if ok && len(s.XValidations) == 0 && n.items == nil && n.values == nil && len(n.properties) == 0 {
		return nil, true
	}
	return n, ok
}

// typeOf returns the CEL type of a property of an object with a type. ok is false if the property does not have one.
func typeOf(name string, property *structuralschema.Structural, parent *apiservercel.DeclType) (its *apiservercel.DeclType, ok bool) {
	if escaped, ok := apiservercel.Escape(name); ok {
		if f := parent.Fields[escaped]; f != nil {
			return f.Type, true
		}
		return nil, false
	}
	// The type of the object lacks fields whose names cannot be written in CEL.
	its = model.SchemaDeclType(property, property.XEmbeddedResource)
	return its, its != nil
}

// compile compiles the rules of the node itself, and reports whether all of them compile.
func (n *ruleNode) compile(s *structuralschema.Structural, typ *apiservercel.DeclType) bool {
	if len(s.XValidations) == 0 {
		return true
	}
	compiled, err := cel.Compile(s, typ, celconfig.PerCallLimit, environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.StoredExpressionsEnvLoader())
	if err != nil {
		return false
	}
	for i, c := range compiled {
		if c.Error != nil {
			return false
		}
		if c.Program == nil { // an empty rule
			continue
		}
		optional := s.XValidations[i].OptionalOldSelf
		n.rules = append(n.rules, rule{
			program: c.Program, readsOld: c.UsesOldSelf, optional: optional != nil && *optional, short: c.MaxCost <= shortCost,
		})
		n.readsOld = n.readsOld || c.UsesOldSelf
	}
	return true
}
