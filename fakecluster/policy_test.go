package fakecluster_test

import (
	"testing"
	"testing/synctest"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// Policies work inside a bubble, and leave nothing behind in it.
func TestPoliciesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(
			&admissionregistrationv1.ValidatingAdmissionPolicy{
				ObjectMeta: metav1.ObjectMeta{Name: "names"},
				Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
					MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
						RuleWithOperations: admissionregistrationv1.RuleWithOperations{
							Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
							Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
						},
					}}},
					Validations: []admissionregistrationv1.Validation{{Expression: "object.metadata.name.startsWith('good')"}},
				},
			},
			&admissionregistrationv1.ValidatingAdmissionPolicyBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "everywhere"},
				Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
					PolicyName: "names", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
				},
			},
		))
		clients, err := kubernetes.NewForConfig(c.RESTConfig())
		must(t, err)
		maps := clients.CoreV1().ConfigMaps("default")
		_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}, metav1.CreateOptions{})
		const want = `configmaps "bad" is forbidden: ValidatingAdmissionPolicy 'names' with binding 'everywhere' denied request: failed expression: object.metadata.name.startsWith('good')`
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "good"}}, metav1.CreateOptions{})
		must(t, err)
		policy, err := clients.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(t.Context(), "names", metav1.GetOptions{})
		must(t, err)
		if policy.Status.ObservedGeneration != 1 {
			t.Errorf("the status is %v", policy.Status)
		}
	})
}
