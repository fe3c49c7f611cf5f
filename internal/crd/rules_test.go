package crd

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

const ruledSchema = `
type: object
x-kubernetes-validations:
- {rule: "!has(self.spec) || !has(self.spec.a) || self.spec.a <= 2", messageExpression: "'a is ' + string(self.spec.a)"}
- {rule: "self.metadata.name == 'a'"}
properties:
  spec:
    type: object
    x-kubernetes-validations:
    - {rule: "self.a < self.b", message: a is not less}
    - {rule: "self.a >= oldSelf.a"}
    - {rule: "has(self.in__dash__between) && self.in__dash__between == 'x'"}
    - {rule: "!has(self.namespace) || self.namespace > 0"}
    - {rule: "!oldSelf.hasValue() || oldSelf.value().b < 3", optionalOldSelf: true}
    properties:
      namespace: {type: integer}
      a: {type: integer}
      b: {type: integer}
      in-between: {type: string, x-kubernetes-validations: [{rule: "self.startsWith('x')"}]}
      c: {type: object, x-kubernetes-validations: [{rule: "self.size() < 2"}], additionalProperties: {type: integer, x-kubernetes-validations: [{rule: "self >= oldSelf"}]}}
      d:
        type: array
        maxItems: 3
        x-kubernetes-validations: [{rule: "self.all(x, x.e > 0)"}]
        items: {type: object, x-kubernetes-validations: [{rule: "self.e < 3"}], properties: {e: {type: integer}, f: {type: string}}}
      g: {type: object, x-kubernetes-validations: [{rule: "self == oldSelf"}], properties: {h: {type: integer}, i: {type: integer}}}
      k: {type: object, x-kubernetes-validations: [{rule: "!has(self.x) || self.x < 2"}], additionalProperties: {type: integer}}
      j: {type: object, x-kubernetes-validations: [{rule: "self.?h.orValue(0) < 2"}], properties: {h: {type: integer}, i: {type: integer}}}
      l:
        type: array
        maxItems: 5
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          x-kubernetes-validations: [{rule: "self.v >= oldSelf.v"}]
          properties: {name: {type: string}, v: {type: integer}}
      m: {x-kubernetes-int-or-string: true, x-kubernetes-validations: [{rule: "type(self) == int ? self < 3 : self != 'three'"}]}
      n: {type: string, nullable: true, x-kubernetes-validations: [{rule: "self != 'no'"}]}
      o:
        type: object
        x-kubernetes-embedded-resource: true
        x-kubernetes-preserve-unknown-fields: true
        x-kubernetes-validations: [{rule: "self.kind == 'K' && self.metadata.name != 'no'"}]
      p: {type: array, maxItems: 4, x-kubernetes-list-type: atomic, items: {type: array, maxItems: 4, items: {type: integer, x-kubernetes-validations: [{rule: "self > 0"}]}}}
`

// ruledObjects returns a function that makes random objects of ruledSchema.
func ruledObjects(r *rand.Rand) func() map[string]any {
	number := func() any { return int64(r.IntN(4)) }
	kind := func() any { return []any{"K", "K", "K", "L"}[r.IntN(4)] }
	return func() map[string]any {
		spec := map[string]any{"in-between": "x", "a": int64(1), "b": int64(2)}
		if r.IntN(4) == 0 {
			delete(spec, []string{"a", "b", "in-between"}[r.IntN(3)])
		}
		if r.IntN(4) == 0 {
			spec[[]string{"a", "b"}[r.IntN(2)]] = number()
		}
		for field, value := range map[string]any{
			"namespace": number(), "in-between": []any{"x", "xy", "y"}[r.IntN(3)], "c": map[string]any{"k": number(), fmt.Sprint(r.IntN(2)): number()},
			"d": []any{map[string]any{"e": number()}, map[string]any{"f": "x"}}[:r.IntN(3)],
			"g": map[string]any{"h": number()}, "j": map[string]any{"h": number(), "i": number()}, "k": map[string]any{[]string{"x", "y"}[r.IntN(2)]: number()},
			"l": []any{map[string]any{"name": "one", "v": number()}, map[string]any{"name": "two", "v": number()}}[:r.IntN(3)],
			"m": []any{number(), "three", "four"}[r.IntN(3)], "n": []any{nil, "yes", "no"}[r.IntN(3)],
			"o": map[string]any{"apiVersion": "a/v1", "kind": kind(), "metadata": map[string]any{"name": []any{"no", "yes", "yes"}[r.IntN(3)]}},
			"p": []any{[]any{number()}, []any{}}[:r.IntN(3)],
		} {
			if r.IntN(8) == 0 {
				spec[field] = value
			}
		}
		return map[string]any{"apiVersion": "a/v1", "kind": "K", "metadata": map[string]any{"name": []any{"a", "a", "a", "b"}[r.IntN(4)]}, "spec": spec}
	}
}

type warningsOf struct{ texts []string }

func (w *warningsOf) AddWarning(_, text string) { w.texts = append(w.texts, text) }

// saidOf is what a validator says: errors and warnings, and what is left of the budget.
type saidOf struct {
	Errors, Warnings []string
	Left             int64
}

func upstreamSays(v *cel.Validator, structural *structuralschema.Structural, obj, former map[string]any, budget int64) saidOf {
	var old any
	var options []cel.Option
	if former != nil {
		old = former
		options = append(options, cel.WithRatcheting(common.NewCorrelatedObject(obj, former, &model.Structural{Structural: structural})))
	}
	heard := &warningsOf{}
	errs, left := v.Validate(warning.WithWarningRecorder(context.Background(), heard), nil, structural, obj, old, budget, options...)
	said := saidOf{Warnings: heard.texts, Left: left}
	for _, err := range errs {
		said.Errors = append(said.Errors, err.Error())
	}
	slices.Sort(said.Errors)
	slices.Sort(said.Warnings)
	return said
}

var rulings = flag.Int("rulings", seedtest.Cases(3_000), "how many random objects are evaluated by rules as upstream evaluates them")

// What the rules accept, upstream accepts for the same cost. What upstream accepts, they accept,
// except a rule with an optional oldSelf that there is none of.
func TestTheRulesAcceptWhatUpstreamAccepts(t *testing.T) {
	structural := structuralOf(t, ruledSchema)
	r := seedtest.Rand(t)
	upstream, own, object := cel.NewValidator(structural, true, celconfig.PerCallLimit), newRules(structural), ruledObjects(r)
	if own.root == nil {
		t.Fatal("upstream evaluates all objects")
	}
	accepted, refused, outOfBudget, said := 0, 0, 0, map[string]bool{}
	for range *rulings {
		obj, old := object(), object()
		switch r.IntN(4) {
		case 0:
			old = nil
		case 1:
			old = obj // a rule that is not kept is only warned of
		}
		budget := int64(celconfig.RuntimeCELCostBudget)
		if r.IntN(4) == 0 {
			budget = int64(r.IntN(60))
		}
		want := upstreamSays(upstream, structural, obj, old, budget)
		left, keeps := own.acceptWithin(t.Context(), obj, old, budget)
		switch accepts := want.Left >= 0 && len(want.Errors) == 0 && len(want.Warnings) == 0; {
		case keeps && (!accepts || left != want.Left):
			t.Fatalf("%v after %v is accepted with %d of %d left, but upstream says %+v", obj, old, left, budget, want)
		case keeps:
			accepted++
		case accepts && old != nil && want.Left > 0:
			t.Fatalf("%v after %v is not accepted with %d, but upstream says %+v", obj, old, budget, want)
		case want.Left < 0:
			outOfBudget++
		default:
			refused++
		}
		if budget == celconfig.RuntimeCELCostBudget {
			if diff := cmp.Diff(append(want.Errors, want.Warnings...), own.say(t, structural, obj, old)); diff != "" {
				t.Fatalf("%v after %v (-upstream +rules):\n%s", obj, old, diff)
			}
		}
		for _, text := range want.Errors {
			said[text] = true
		}
	}
	t.Logf("%d accepted, %d refused, %d for the budget", accepted, refused, outOfBudget)
	if accepted < *rulings/15 || refused < *rulings/6 || outOfBudget < *rulings/30 || len(said) < 20 {
		t.Errorf("%d accepted, %d refused, %d for the budget, with %d errors: the test shows little", accepted, refused, outOfBudget, len(said))
	}
}

// say returns the errors and warnings about an object.
func (r *rules) say(t *testing.T, structural *structuralschema.Structural, obj, old map[string]any) []string {
	heard := &warningsOf{}
	errs := r.Validate(warning.WithWarningRecorder(t.Context(), heard), obj, old, func() []cel.Option {
		if old == nil {
			return nil
		}
		return []cel.Option{cel.WithRatcheting(common.NewCorrelatedObject(obj, old, &model.Structural{Structural: structural}))}
	})
	var said []string
	for _, err := range errs {
		said = append(said, err.Error())
	}
	slices.Sort(said)
	slices.Sort(heard.texts)
	return append(said, heard.texts...)
}

func TestWhereUpstreamEvaluatesAllRules(t *testing.T) {
	for name, tt := range map[string]struct {
		schema         string
		none, upstream bool
	}{
		"there are no rules":              {schema: `{type: object, properties: {a: {type: object, properties: {b: {type: string}}}}}`, none: true},
		"a rule in allOf":                 {schema: `{type: object, properties: {a: {type: string, allOf: [{x-kubernetes-validations: [{rule: "self != ''"}]}], x-kubernetes-validations: [{rule: "self != 'x'"}]}}}`, upstream: true},
		"only a rule in allOf":            {schema: `{type: object, properties: {a: {type: string, allOf: [{x-kubernetes-validations: [{rule: "self != ''"}]}]}}}`, none: true},
		"a rule that does not compile":    {schema: `{type: object, properties: {a: {type: string, x-kubernetes-validations: [{rule: "self + 1"}]}}}`, upstream: true},
		"a rule of a value of no type":    {schema: `{type: object, x-kubernetes-validations: [{rule: "true"}], properties: {a: {x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: "true"}]}}}`},
		"only a rule of one of no type":   {schema: `{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: "true"}]}}}`, none: true},
		"a rule of a name no rule writes": {schema: `{type: object, properties: {"a b": {type: string, x-kubernetes-validations: [{rule: "self != ''"}]}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			structural := structuralOf(t, tt.schema)
			own, upstream := newRules(structural), cel.NewValidator(structural, true, celconfig.PerCallLimit)
			if (own == nil) != (upstream == nil) || (own == nil) != tt.none {
				t.Fatalf("there are rules: %t; upstream has a validator: %t", own != nil, upstream != nil)
			}
			if own != nil && (own.root == nil) != tt.upstream {
				t.Errorf("upstream evaluates all objects: %t", own.root == nil)
			}
		})
	}
}
