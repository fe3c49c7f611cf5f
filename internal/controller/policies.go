package controller

import (
	"github.com/tidwall/gjson"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fakecluster/fakecluster/internal/admission/policy"
)

var policies = kind{admissionregistrationv1.GroupName, "validatingadmissionpolicies"}

// policyStatusManager is the field manager of a policy's status, as on a real server.
const policyStatusManager = "validatingadmissionpolicy-status"

// policyStatus type-checks the expressions of ValidatingAdmissionPolicies and writes the result to their status, once
// for each generation.
func policyStatus() *controller {
	return &controller{
		identity: ServiceAccount("validatingadmissionpolicy-status-controller"),
		follows: []followed{{kind: policies, concerns: func(s *step, c change) error {
			if !c.Deleted && isUnobserved(c.Record.Value) {
				s.enqueue(c.key())
			}
			return nil
		}}},
		resume: func(s *step, _ int64) error {
			v, err := s.version(policies)
			if err != nil {
				return err
			}
			records, err := s.records(v.Resource, "")
			for _, p := range records {
				if isUnobserved(p.Value) {
					s.enqueue(key{name: v.Resource.NameOf(p.Key)})
				}
			}
			return err
		},
		sync: func(s *step, k key) error {
			registry, err := s.server.Registry()
			if err != nil {
				return err
			}
			p, err := find[*admissionregistrationv1.ValidatingAdmissionPolicy](s, policies, "", k.name)
			if err != nil || p == nil || p.Generation <= p.Status.ObservedGeneration {
				return err
			}
			typeChecking := map[string]any{}
			var warnings []any
			for _, w := range policy.TypeCheck(p, registry) {
				warnings = append(warnings, map[string]any{"fieldRef": w.FieldRef, "warning": w.Warning})
			}
			if len(warnings) > 0 {
				typeChecking["expressionWarnings"] = warnings
			}
			return s.applyStatus(policies, p, policyStatusManager, map[string]any{"observedGeneration": p.Generation, "typeChecking": typeChecking})
		},
	}
}

// isUnobserved reports whether the status of an object is older than its spec.
func isUnobserved(text string) bool {
	return gjson.Get(text, "metadata.generation").Int() > gjson.Get(text, "status.observedGeneration").Int()
}
