package crd

import (
	celast "github.com/google/cel-go/common/ast"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// newRules compiles the CEL rules of a schema, or returns nil if there are none. When a
// rule reads a field of self, upstream copies the schemas of all fields of the object.
// newRules leaves upstream only the fields that the rules read.
func newRules(s *structuralschema.Structural) *cel.Validator {
	rules := cel.NewValidator(s, true, celconfig.PerCallLimit)
	narrow(rules, s)
	return rules
}

// narrow leaves to the rules of each node the fields that they read.
func narrow(v *cel.Validator, s *structuralschema.Structural) {
	if v == nil || s == nil {
		return
	}
	// A map, or an object with any fields, has no properties: it stays as it is.
	if read, ok := fieldsRead(s.XValidations); ok && s.Properties != nil {
		narrowed := *s
		narrowed.Properties = map[string]structuralschema.Structural{}
		for name, property := range s.Properties {
			// A rule may write some names both escaped and not.
			if escaped, ok := apiservercel.Escape(name); read[name] || ok && read[escaped] {
				narrowed.Properties[name] = property
			}
		}
		v.Schema = &narrowed
	}
	narrow(v.Items, s.Items)
	if s.AdditionalProperties != nil {
		narrow(v.AdditionalProperties, s.AdditionalProperties.Structural)
	}
	for name, below := range v.Properties {
		property := s.Properties[name]
		narrow(&below, &property)
		v.Properties[name] = below
	}
}

// fieldsRead returns the names of the fields of self and oldSelf that rules read. Ok is
// false if the rules do anything else with self or oldSelf.
func fieldsRead(rules apiextensionsv1.ValidationRules) (map[string]bool, bool) {
	read := map[string]bool{}
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	for _, rule := range rules {
		for _, expression := range []string{rule.Rule, rule.MessageExpression} {
			if expression == "" {
				continue
			}
			parsed, issues := env.Parse(expression)
			if issues.Err() != nil || !onlyReads(parsed.NativeRep().Expr(), read) {
				return nil, false
			}
		}
	}
	return read, len(rules) > 0
}

// onlyReads collects the fields of self and oldSelf that an expression selects, and tells
// whether it does nothing else with these two.
func onlyReads(expression celast.Expr, read map[string]bool) bool {
	named, selected := 0, 0
	isSelf := func(e celast.Expr) bool {
		return e.Kind() == celast.IdentKind && (e.AsIdent() == cel.ScopedVarName || e.AsIdent() == cel.OldScopedVarName)
	}
	celast.PreOrderVisit(expression, celast.NewExprVisitor(func(e celast.Expr) {
		if isSelf(e) {
			named++
		}
		if e.Kind() == celast.SelectKind && isSelf(e.AsSelect().Operand()) {
			selected++
			read[e.AsSelect().FieldName()] = true
		}
	}))
	return named == selected
}
