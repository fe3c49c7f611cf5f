package crd

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
)

// TestManyRulesAreCompiledWithTheFirstObject proves that a definition with many rules is served before they are compiled, that a write learns that they
// are to be compiled, and that few rules and none do not hold up a write.
func TestManyRulesAreCompiledWithTheFirstObject(t *testing.T) {
	schemaOf := func(rules int) *compiledSchema {
		var properties strings.Builder
		for i := range rules {
			fmt.Fprintf(&properties, "p%d: {type: integer, x-kubernetes-validations: [{rule: self > %d}]}, ", i, i)
		}
		structural := structuralOf(t, `{type: object, properties: {spec: {type: object, properties: {`+properties.String()+`}}}}`)
		s := &compiledSchema{structural: structural}
		s.rules, s.uncompiled = lazyRules(structural)
		return s
	}
	for _, rules := range []int{0, manyRules - 1} {
		if s := schemaOf(rules); s.uncompiled != nil || (s.rules() == nil) != (rules == 0) {
			t.Errorf("with %d rules, a write has to know whether they are compiled: %t", rules, s.uncompiled != nil)
		}
	}
	s := schemaOf(manyRules)
	object := func(p3 int64) map[string]any { return map[string]any{"spec": map[string]any{"p3": p3}} }
	expect := func(when string, want bool) {
		t.Helper()
		if got := s.uncompiled(); got != want {
			t.Errorf("%s, there is something to compile: %t, want %t", when, got, want)
		}
	}
	expect("before the first object", true)
	if errs := s.rules().Validate(t.Context(), object(4), nil, nil); len(errs) > 0 {
		t.Error(errs)
	}
	expect("after an object that keeps the rules", true) // upstream's validator has the words for one that does not
	const want = `spec.p3: Invalid value: 3: failed rule: self > 3`
	if errs := s.rules().Validate(t.Context(), object(3), nil, func() []cel.Option { return nil }); len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("the errors are %v, want %s", errs, want)
	}
	expect("after an object that does not", false)
}
