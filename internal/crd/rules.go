package crd

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
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
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/metrics"
)

// rules has the CEL rules of a schema. It accepts an object that satisfies all of them. For any other object it calls
// upstream's validator, which returns the errors and applies ratcheting. Upstream's validator creates the schemas of all
// fields of an object again for each field that a rule reads; here they are created once.
type rules struct {
	// upstream returns upstream's validator. The first call compiles the rules.
	upstream func() *cel.Validator
	// complete is set after upstream's validator was created.
	complete atomic.Bool
	// root is the tree of the rules; nil: upstream evaluates all objects.
	root *ruleNode
}

// ruleNode has the rules of a node of a schema, and of the nodes below it.
type ruleNode struct {
	rules    []rule
	readsOld bool // a rule here or below reads oldSelf

	schema     common.Schema // for rules
	structural common.Schema // unchanged
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
	optional bool // oldSelf is optional
	short    bool // evaluated without the context, because it ends soon
}

// shortCost is the largest cost of a rule that cannot be interrupted: about a millisecond.
const shortCost = celconfig.PerCallLimit / 100

// manyRules is the number of rules from which on compiling takes long: a tenth of a second.
const manyRules = 50

// lazyRules returns a function that calls newRules once, when it is first needed: a definition is served before its
// rules are compiled, which may take seconds. uncompiled reports whether the next call may take long; nil: no call does.
func lazyRules(s *structuralschema.Structural) (get func() *rules, uncompiled func() bool) {
	paths := pathsOfRules(s)
	if paths == nil {
		return func() *rules { return nil }, nil
	}
	var done atomic.Bool
	var compiled *rules
	get = sync.OnceValue(func() *rules {
		compiled = newRules(s)
		done.Store(true)
		return compiled
	})
	if paths.rules < manyRules {
		return get, nil
	}
	return get, func() bool { return !done.Load() || compiled != nil && !compiled.complete.Load() }
}

// newRules compiles the CEL rules of a schema. It returns nil if there are none.
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
		r := &rules{root: root}
		r.upstream = sync.OnceValue(func() *cel.Validator {
			defer r.complete.Store(true)
			return validator()
		})
		return r
	}
	v := validator()
	if v == nil {
		return nil
	}
	r := &rules{upstream: func() *cel.Validator { return v }}
	r.complete.Store(true)
	return r
}

// Validate returns the errors of an object. old is the current object, or nil. The options are for upstream's validator.
func (r *rules) Validate(ctx context.Context, obj, old map[string]any, options func() []cel.Option) field.ErrorList {
	if r.accept(ctx, obj, old) {
		return nil
	}
	// Without an old object, this must be a nil interface, not an interface with a nil map.
	var before any
	if old != nil {
		before = old
	}
	errs, _ := r.upstream().Validate(ctx, nil, nil, obj, before, celconfig.RuntimeCELCostBudget, options()...)
	return errs
}

// accept reports whether an object satisfies all rules within the budget. It may return false for such an object.
func (r *rules) accept(ctx context.Context, obj, old map[string]any) bool {
	if r.root == nil {
		return false
	}
	began := time.Now()
	defer func() { metrics.Metrics.ObserveEvaluation(time.Since(began)) }()
	_, ok := r.acceptWithin(ctx, obj, old, celconfig.RuntimeCELCostBudget)
	return ok
}

// acceptWithin also returns the rest of the budget. It declines if nothing is left, because upstream's result then
// depends on the order of the fields.
func (r *rules) acceptWithin(ctx context.Context, obj, old map[string]any, budget int64) (left int64, ok bool) {
	ok = r.root.accept(ctx, obj, old, &budget)
	return budget, ok && budget > 0
}

// accept reports whether a value satisfies the rules of the node and of those below it. It subtracts their cost from the
// budget.
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
	var before common.MapList // looks up items by key
	if n.items.readsOld {
		former, _ := old.([]any)
		before = common.MakeMapList(n.structural, former)
	}
	for _, item := range items {
		var counterpart any
		if before != nil {
			counterpart = before.Get(item)
		}
		if !n.items.accept(ctx, item, counterpart, budget) {
			return false
		}
	}
	return true
}

// keeps reports whether a value satisfies the rules of the node itself.
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
				return false // a feature gate determines whether upstream evaluates the rule
			}
			if optional == nil {
				optional = &selves{self: a.self, oldSelf: types.OptionalOf(a.oldSelf)}
			}
			given = optional
		case old == nil:
			continue
		}
		var value ref.Val
		var details *celgo.EvalDetails
		var err error
		if r.short {
			value, details, err = r.program.Eval(given)
		} else {
			value, details, err = r.program.ContextEval(ctx, given)
		}
		if err != nil || value != types.True || details == nil {
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

// isNothing reports whether an old value is absent or null.
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
