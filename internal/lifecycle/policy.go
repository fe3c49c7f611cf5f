package lifecycle

import (
	"context"

	"github.com/tidwall/gjson"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/internal/admission/policy"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// policyStatusManager is the field manager of a policy's status: the name of the controller of
// a real server.
const policyStatusManager = "validatingadmissionpolicy-status"

// policies is the plural name of ValidatingAdmissionPolicies.
const policies = "validatingadmissionpolicies"

func isPolicy(r *resource.Resource) bool {
	return r.Group == admissionregistrationv1.GroupName && r.Names.Plural == policies
}

// resumePolicies adds the policies whose status is older than their spec.
func (r *Reactor) resumePolicies(list *tasks, c *resource.Catalogue) error {
	res := c.Resource(admissionregistrationv1.GroupName, policies)
	records, err := r.server.List(res, "")
	if err != nil {
		return err
	}
	for _, p := range records {
		if isUnobserved(p.Value) {
			list.add(checkPolicy, res.NameOf(p.Key))
		}
	}
	return nil
}

// isUnobserved tells whether the status of an object is older than its spec.
func isUnobserved(text string) bool {
	return gjson.Get(text, "metadata.generation").Int() > gjson.Get(text, "status.observedGeneration").Int()
}

// checkPolicy checks the types in the expressions of a policy and writes the result into its
// status, once for each generation.
func (r *Reactor) checkPolicy(ctx context.Context, name string) error {
	catalogue, err := r.server.Catalogue()
	if err != nil {
		return err
	}
	res := catalogue.Resource(admissionregistrationv1.GroupName, policies)
	obj, was, err := r.server.Get(ctx, res, "", name)
	if err != nil {
		return err
	}
	p := obj.(*admissionregistrationv1.ValidatingAdmissionPolicy)
	if p.Generation <= p.Status.ObservedGeneration {
		return nil
	}
	typeChecking := map[string]any{}
	var warnings []any
	for _, w := range policy.TypeCheck(p, catalogue) {
		warnings = append(warnings, map[string]any{"fieldRef": w.FieldRef, "warning": w.Warning})
	}
	if len(warnings) > 0 {
		typeChecking["expressionWarnings"] = warnings
	}
	return r.server.ApplyStatus(ctx, res, was, &unstructured.Unstructured{Object: map[string]any{
		"status": map[string]any{"observedGeneration": p.Generation, "typeChecking": typeChecking},
	}}, policyStatusManager)
}
