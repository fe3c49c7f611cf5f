package fakecluster_test

import (
	"context"
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// BenchmarkAdmission measures a create in process with different kinds of admission.
func BenchmarkAdmission(b *testing.B) {
	nothing := func(context.Context, *fakecluster.AdmissionRequest) error { return nil }
	elsewhere := func(w *admissionregistrationv1.MutatingWebhook) { w.Rules[0].APIGroups = []string{"elsewhere"} }
	for _, c := range []struct {
		name    string
		options []fakecluster.Option
		kind    string
		number  int
		change  func(*admissionregistrationv1.MutatingWebhook)
	}{
		{name: "no webhook"},
		{name: "a webhook for something else", kind: mutating, number: 1, change: elsewhere},
		{name: "50 webhooks for something else", kind: mutating, number: 50, change: elsewhere},
		{name: "a match condition that is false", kind: validating, number: 1, change: func(w *admissionregistrationv1.MutatingWebhook) {
			w.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "a", Expression: "object.metadata.name == 'a'"}}
		}},
		{name: "a validating webhook", kind: validating, number: 1},
		{name: "a mutating webhook", kind: mutating, number: 1},
		{name: "a Go function", options: []fakecluster.Option{fakecluster.WithAdmission(nothing, nothing)}},
		{name: "no webhook, with an audit trail", options: []fakecluster.Option{fakecluster.WithAudit("Metadata")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := &hook{answer: allow}
			if c.kind == mutating {
				h.answer = patch(`[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`)
			}
			cluster := fakecluster.Start(b, append(c.options, fakecluster.InProcess(), fakecluster.WithService("default", "hook", 443, h))...)
			define(b, cluster, weighedDefinition(0))
			for i := range c.number {
				configure(b, cluster, hookConfiguration(b, cluster, c.kind, fmt.Sprint("hook-", i), c.change))
			}
			crontabs := inDefault(cluster)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				if _, err := crontabs.Create(b.Context(), weighed(nameOf(n)), metav1.CreateOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
