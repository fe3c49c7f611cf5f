package redact

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkStatus is what the history pays for a read of a Secret that is not there, and for a conflict about
// another object.
func BenchmarkStatus(b *testing.B) {
	for name, c := range map[string]struct {
		r Request
		s metav1.Status
	}{
		"secret":    {Request{Resource: "secrets", Name: "a"}, metav1.Status{Reason: "NotFound", Message: `secrets "a" not found`}},
		"configmap": {Request{Resource: "configmaps", Name: "a", Body: make([]byte, 1000)}, metav1.Status{Reason: "Conflict", Message: `Operation cannot be fulfilled`}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.r.Status(&c.s)
			}
		})
	}
}
