package crd

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/metrics"
)

// rules are the CEL rules of a schema. An object that keeps all of them passes them here. Any other
// object is left to upstream's validator, which knows the words and what of an update is not held
// against it. Upstream's validator makes the schemas of all fields of an object anew for each field
// that a rule reads; the rules here make them once.
type rules struct {
	// upstream returns the validator; nil as long as it is not needed, because it compiles the rules.
	upstream func() *cel.Validator
	// root is the tree of the rules; nil: upstream judges every object.
	root *ruleNode
}

// ruleNode has the rules of one node of a schema, and of the nodes below.
type ruleNode struct {
	rules    []rule
	readsOld bool // a rule here or below reads oldSelf

	schema     common.Schema // as the rules see it
	structural common.Schema // as it is
	items      *ruleNode
	values     *ruleNode // of a map
	properties []ruledProperty
}

// ruledProperty is a property with rules.
type ruledProperty struct {
	name string
	*ruleNode
}

// rule is a compiled rule.
type rule struct {
	program  celgo.Program
	readsOld bool
	optional bool // oldSelf is an optional
	short    bool // it needs no context, because it ends soon
}

// shortCost is the largest cost of a rule that is not interrupted: about a millisecond.
const shortCost = celconfig.PerCallLimit / 100

// newRules compiles the CEL rules of a schema, or returns nil if there are none.
func newRules(s *structuralschema.Structural) *rules {
	if s == nil {
		return nil
	}
	validator := func() *cel.Validator { return cel.NewValidator(s, true, celconfig.PerCallLimit) }
	paths := pathsOfRules(s)
	if paths == nil {
		return nil
	}
	root, ok := compileRules(s, paths, true, model.SchemaDeclType(s, true))
	switch {
	case ok && root == nil:
		return nil
	case ok:
		return &rules{upstream: sync.OnceValue(validator), root: root}
	}
	v := validator()
	if v == nil {
		return nil
	}
	return &rules{upstream: func() *cel.Validator { return v }}
}

// rulePaths leads to those nodes of a schema that have rules.
type rulePaths struct {
	inAllOf    bool // a part of allOf has a rule
	items      *rulePaths
	values     *rulePaths
	properties map[string]*rulePaths
}

// pathsOfRules returns the paths to the rules of a schema; nil: there are none.
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
	for name, property := range s.Properties {
		if below := pathsOfRules(&property); below != nil {
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

// nestedHasRules tells whether a part of allOf has rules.
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

// compileRules compiles the rules of a node and of those below, to which the paths lead; nil if
// upstream looks at none of them. Ok is false if upstream has to judge all objects: there is a rule
// that does not compile, or one in allOf. The type is the node's in CEL; nil if it has none.
func compileRules(s *structuralschema.Structural, paths *rulePaths, isRoot bool, of *apiservercel.DeclType) (n *ruleNode, ok bool) {
	if paths.inAllOf || of == nil {
		return nil, false
	}
	n = &ruleNode{structural: &knownSchema{Structural: model.Structural{Structural: s}}}
	if n.schema = n.structural; isRoot {
		n.schema = n.structural.WithTypeAndObjectMeta()
	}
	if !n.compile(s, of) {
		return nil, false
	}
	ok = true
	below := func(s *structuralschema.Structural, paths *rulePaths, of *apiservercel.DeclType) *ruleNode {
		if paths == nil {
			return nil
		}
		child, compiled := compileRules(s, paths, s.XEmbeddedResource, of)
		ok = ok && compiled
		n.readsOld = n.readsOld || child != nil && child.readsOld
		return child
	}
	n.items = below(s.Items, paths.items, of.ElemType)
	if s.AdditionalProperties != nil {
		n.values = below(s.AdditionalProperties.Structural, paths.values, of.ElemType)
	}
	for name, path := range paths.properties {
		property := s.Properties[name]
		its, known := typeOf(name, &property, of)
		if !known {
			continue // upstream has no rules for what has no type
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

// typeOf returns the type in CEL of a property of an object that has a type. Known is false if the
// property has none.
func typeOf(name string, property *structuralschema.Structural, of *apiservercel.DeclType) (its *apiservercel.DeclType, known bool) {
	if escaped, ok := apiservercel.Escape(name); ok {
		if f := of.Fields[escaped]; f != nil {
			return f.Type, true
		}
		return nil, false
	}
	// No rule can write the name, and so the type of the object has no such field.
	its = model.SchemaDeclType(property, property.XEmbeddedResource)
	return its, its != nil
}

// compile compiles the rules of the node itself, and tells whether all of them compile.
func (n *ruleNode) compile(s *structuralschema.Structural, of *apiservercel.DeclType) bool {
	if len(s.XValidations) == 0 {
		return true
	}
	compiled, err := cel.Compile(s, of, celconfig.PerCallLimit, environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.StoredExpressionsEnvLoader())
	if err != nil {
		return false
	}
	for i, c := range compiled {
		if c.Error != nil {
			return false
		}
		if c.Program == nil { // it is empty
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

// Validate returns what rules an object does not keep. Old is the current object, or nil. The
// options are for upstream's validator.
func (r *rules) Validate(ctx context.Context, obj, old map[string]any, options func() []cel.Option) field.ErrorList {
	if r.accept(ctx, obj, old) {
		return nil
	}
	// Without an old object, this must be a nil interface and not an interface with a nil map.
	var before any
	if old != nil {
		before = old
	}
	errs, _ := r.upstream().Validate(ctx, nil, nil, obj, before, celconfig.RuntimeCELCostBudget, options()...)
	return errs
}

// accept tells whether an object is known to keep all rules within the budget.
func (r *rules) accept(ctx context.Context, obj, old map[string]any) bool {
	if r.root == nil {
		return false
	}
	began := time.Now()
	defer func() { metrics.Metrics.ObserveEvaluation(time.Since(began)) }()
	_, ok := r.acceptWithin(ctx, obj, old, celconfig.RuntimeCELCostBudget)
	return ok
}

// acceptWithin also returns what is left of the budget. It must be more than nothing, because then
// it depends on the order of the fields what upstream says.
func (r *rules) acceptWithin(ctx context.Context, obj, old map[string]any, budget int64) (left int64, ok bool) {
	ok = r.root.accept(ctx, obj, old, &budget)
	return budget, ok && budget > 0
}

// accept tells whether a value keeps the rules of the node and of those below. It takes what they
// cost from the budget.
func (n *ruleNode) accept(ctx context.Context, value, old any, budget *int64) bool {
	if value == nil {
		return true
	}
	if !n.readsOld || isNothing(old) {
		old = nil
	}
	if len(n.rules) > 0 && !n.keeps(ctx, value, old, budget) {
		return false
	}
	switch value := value.(type) {
	case []any:
		return n.acceptItems(ctx, value, old, budget)
	case map[string]any:
		before, _ := old.(map[string]any)
		if n.values != nil {
			for key, v := range value {
				if !n.values.accept(ctx, v, before[key], budget) {
					return false
				}
			}
		}
		for _, p := range n.properties {
			if v, ok := value[p.name]; ok && !p.accept(ctx, v, before[p.name], budget) {
				return false
			}
		}
	}
	return true
}

func (n *ruleNode) acceptItems(ctx context.Context, items []any, old any, budget *int64) bool {
	if n.items == nil {
		return true
	}
	var before common.MapList // finds items by their keys
	if n.items.readsOld {
		was, _ := old.([]any)
		before = common.MakeMapList(n.structural, was)
	}
	for _, item := range items {
		var was any
		if before != nil {
			was = before.Get(item)
		}
		if !n.items.accept(ctx, item, was, budget) {
			return false
		}
	}
	return true
}

// keeps tells whether a value keeps the rules of the node itself.
func (n *ruleNode) keeps(ctx context.Context, value, old any, budget *int64) bool {
	a := &selves{self: common.UnstructuredToVal(value, n.schema)}
	var optional *selves
	if old != nil {
		a.oldSelf = common.UnstructuredToVal(old, n.schema)
	}
	for _, r := range n.rules {
		if *budget <= 0 {
			return false
		}
		given := a
		switch {
		case !r.readsOld:
		case r.optional:
			if old == nil {
				return false // whether upstream evaluates the rule depends on a feature gate
			}
			if optional == nil {
				optional = &selves{self: a.self, oldSelf: types.OptionalOf(a.oldSelf)}
			}
			given = optional
		case old == nil:
			continue
		}
		var is ref.Val
		var details *celgo.EvalDetails
		var err error
		if r.short {
			is, details, err = r.program.Eval(given)
		} else {
			is, details, err = r.program.ContextEval(ctx, given)
		}
		if err != nil || is != types.True || details == nil {
			return false
		}
		cost := details.ActualCost()
		if cost == nil || *cost > math.MaxInt64 || int64(*cost) > *budget {
			return false
		}
		*budget -= int64(*cost)
	}
	return true
}

// isNothing tells whether an old value is absent or null.
func isNothing(old any) bool {
	switch old := old.(type) {
	case nil:
		return true
	case map[string]any:
		return old == nil
	case []any:
		return old == nil
	}
	return false
}

// selves are the variables of a rule.
type selves struct{ self, oldSelf ref.Val }

// ResolveName implements interpreter.Activation.
func (s *selves) ResolveName(name string) (any, bool) {
	switch name {
	case cel.ScopedVarName:
		return s.self, true
	case cel.OldScopedVarName:
		return s.oldSelf, s.oldSelf != nil
	}
	return nil, false
}

// Parent implements interpreter.Activation.
func (*selves) Parent() interpreter.Activation { return nil }

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
