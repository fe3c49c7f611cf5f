package fakecluster_test

import (
	"testing"
	"testing/synctest"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// Policies work inside a bubble, and leave no goroutine behind in it.
func TestPoliciesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(
			configMapPolicy("names", admissionregistrationv1.ValidatingAdmissionPolicySpec{
				Validations: []admissionregistrationv1.Validation{{Expression: "object.metadata.name.startsWith('good')"}},
			}),
			policyBinding("names", admissionregistrationv1.Deny),
		))
		clients, err := kubernetes.NewForConfig(c.RESTConfig())
		must(t, err)
		maps := clients.CoreV1().ConfigMaps("default")
		_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}, metav1.CreateOptions{})
		fails(t, "create", err, `configmaps "bad" is forbidden: ValidatingAdmissionPolicy 'names' with binding 'of-names' denied request: failed expression: object.metadata.name.startsWith('good')`)
		_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "good"}}, metav1.CreateOptions{})
		must(t, err)
		policy, err := clients.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(t.Context(), "names", metav1.GetOptions{})
		must(t, err)
		if policy.Status.ObservedGeneration != 1 {
			t.Errorf("the status is %v", policy.Status)
		}
	})
}

// configMapPolicy returns a policy for ConfigMaps.
func configMapPolicy(name string, spec admissionregistrationv1.ValidatingAdmissionPolicySpec) *admissionregistrationv1.ValidatingAdmissionPolicy {
	spec.MatchConstraints = &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		},
	}}}
	return &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

func policyBinding(policy string, actions ...admissionregistrationv1.ValidationAction) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "of-" + policy},
		Spec:       admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy, ValidationActions: actions},
	}
}

func TestAuditEventsHaveTheResultsOfPolicies(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAudit(auditv1.LevelMetadata), fakecluster.WithLegacyAPIs(), fakecluster.WithObjects(
		configMapPolicy("p", admissionregistrationv1.ValidatingAdmissionPolicySpec{
			Validations:      []admissionregistrationv1.Validation{{Expression: "true"}, {Expression: "false", Message: "no"}},
			AuditAnnotations: []admissionregistrationv1.AuditAnnotation{{Key: "name", ValueExpression: "'of ' + request.name"}},
		}),
		policyBinding("p", admissionregistrationv1.Deny, admissionregistrationv1.Audit),
	))
	clients, err := kubernetes.NewForConfig(c.RESTConfig())
	must(t, err)
	before := len(c.Audit())
	_, err = clients.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	fails(t, "create", err, `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'of-p' denied request: no`)
	_, err = clients.AdmissionregistrationV1beta1().ValidatingAdmissionPolicies().Get(t.Context(), "p", metav1.GetOptions{})
	must(t, err)
	events := c.Audit()[before:]
	equal(t, "number of events", len(events), 2)
	equal(t, "create", events[0].ResponseStatus.Code, int32(422))
	equal(t, "annotations of the create", events[0].Annotations, map[string]string{
		"authorization.k8s.io/decision": "allow",
		"authorization.k8s.io/reason":   "",
		"p/name":                        "of a",
		"validation.policy.admission.k8s.io/validation_failure": `[{"message":"no","policy":"p","binding":"of-p","expressionIndex":1,"validationActions":["Deny","Audit"]}]`,
	})
	equal(t, "annotations of a read of a version that was removed", events[1].Annotations, map[string]string{
		"authorization.k8s.io/decision": "allow",
		"authorization.k8s.io/reason":   "",
		"k8s.io/deprecated":             "true",
		"k8s.io/removed-release":        "1.34",
	})
}
