package crd

import (
	"testing"
)

// BenchmarkRules is what the CEL rules of a small object cost, as new and as an update.
func BenchmarkRules(b *testing.B) {
	structural := structuralOf(b, `
type: object
properties:
  spec:
    type: object
    x-kubernetes-validations: [{rule: self.minReplicas <= self.replicas}, {rule: self.replicas <= self.maxReplicas}]
    properties: {minReplicas: {type: integer}, replicas: {type: integer}, maxReplicas: {type: integer}}
`)
	rules := newRules(structural)
	object := func() map[string]any {
		return map[string]any{"apiVersion": "a/v1", "kind": "K", "metadata": map[string]any{"name": "a"},
			"spec": map[string]any{"minReplicas": int64(1), "replicas": int64(2), "maxReplicas": int64(3)}}
	}
	changed, old := object(), object()
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rules.Validate(b.Context(), changed, nil, nil)
		}
	})
	b.Run("update", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rules.Validate(b.Context(), changed, old, nil)
		}
	})
}
