package admissionregistration_test

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/builtin/admissionregistration"
)

// policy is a valid policy but for its audit annotations.
func policy(annotations ...admissionregistrationv1.AuditAnnotation) *admissionregistrationv1.ValidatingAdmissionPolicy {
	p := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
				},
			}}},
			AuditAnnotations: annotations,
		},
	}
	scheme := runtime.NewScheme()
	if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	admissionregistration.AddDefaults(scheme)
	scheme.Default(p)
	return p
}

func annotation(key, value string) admissionregistrationv1.AuditAnnotation {
	return admissionregistrationv1.AuditAnnotation{Key: key, ValueExpression: value}
}

func TestLimitsOfAuditAnnotations(t *testing.T) {
	many := make([]admissionregistrationv1.AuditAnnotation, 21)
	for i := range many {
		many[i] = annotation(fmt.Sprint("k", i), "'v'")
	}
	nameless := policy(annotation("k", "'v'"))
	nameless.Name = ""
	for _, tt := range []struct {
		name   string
		policy *admissionregistrationv1.ValidatingAdmissionPolicy
		want   string // what the one error begins with; empty: there is none
		detail string
	}{
		{"twenty", policy(many[:20]...), "", ""},
		{"twenty-one", policy(many...), `spec.auditAnnotations: Invalid value: [{"Key":"k0","ValueExpression":"'v'"},`, "must not have more than 20 auditAnnotations"},
		{"5 kB", policy(annotation("k", "'"+strings.Repeat("v", 5118)+"'")), "", ""},
		{"one byte more", policy(annotation("k", "'"+strings.Repeat("v", 5119)+"'")), "spec.auditAnnotations[0].valueExpression: Required value: ", "must not exceed 5120 bytes in length"},
		{"white space does not count", policy(annotation("k", "  '"+strings.Repeat("v", 5118)+"'\n")), "", ""},
		{"of a policy without a name", nameless, `spec.auditAnnotations[0].key: Invalid value: "k": `, "requires metadata.name be non-empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			errs := admissionregistration.ValidateValidatingAdmissionPolicy(tt.policy, nil)
			switch {
			case tt.want == "" && len(errs) > 0:
				t.Error(errs)
			case tt.want != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tt.want) || !strings.HasSuffix(errs[0].Error(), tt.detail)):
				t.Errorf("got  %v\nwant %s … %s", errs, tt.want, tt.detail)
			}
		})
	}
}

// What is stored may use what a new policy may not yet: the environment of new
// expressions is that of the release before.
func TestStoredExpressionsAreKnown(t *testing.T) {
	was := policy(annotation("k", "nothing"))
	is := policy(annotation("k", "nothing"), annotation("l", "'v'"))
	errs := admissionregistration.ValidateValidatingAdmissionPolicy(is, was)
	if len(errs) != 1 || errs[0].Field != "spec.auditAnnotations[0].valueExpression" {
		t.Errorf("an expression that no release knows is compiled all the same: %v", errs)
	}
	was.Spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "c", Expression: "nothing"}}
	is.Spec.MatchConditions, is.Spec.AuditAnnotations = was.Spec.MatchConditions, is.Spec.AuditAnnotations[1:]
	if errs := admissionregistration.ValidateValidatingAdmissionPolicy(is, was); len(errs) > 0 {
		t.Errorf("conditions that are as they were are validated: %v", errs)
	}
	is.Spec.ParamKind = &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	if errs := admissionregistration.ValidateValidatingAdmissionPolicy(is, was); len(errs) != 1 || errs[0].Field != "spec.matchConditions[0].expression" {
		t.Errorf("conditions are not validated for another paramKind: %v", errs)
	}
}
