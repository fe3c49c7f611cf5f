package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AddDefaults tells a scheme what the policies and their bindings default to.
func AddDefaults(s *runtime.Scheme) {
	s.AddTypeDefaultingFunc(&admissionregistrationv1.ValidatingAdmissionPolicy{}, func(obj any) {
		spec := &obj.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec
		setDefault(&spec.FailurePolicy, admissionregistrationv1.Fail)
		defaultMatch(spec.MatchConstraints)
	})
	s.AddTypeDefaultingFunc(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, func(obj any) {
		defaultMatch(obj.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec.MatchResources)
	})
	s.AddTypeDefaultingFunc(&admissionregistrationv1.MutatingAdmissionPolicy{}, func(obj any) {
		spec := &obj.(*admissionregistrationv1.MutatingAdmissionPolicy).Spec
		setDefault(&spec.FailurePolicy, admissionregistrationv1.Fail)
		defaultMatch(spec.MatchConstraints)
	})
	s.AddTypeDefaultingFunc(&admissionregistrationv1.MutatingAdmissionPolicyBinding{}, func(obj any) {
		defaultMatch(obj.(*admissionregistrationv1.MutatingAdmissionPolicyBinding).Spec.MatchResources)
	})

	s.AddTypeDefaultingFunc(&admissionregistrationv1beta1.ValidatingAdmissionPolicy{}, func(obj any) {
		spec := &obj.(*admissionregistrationv1beta1.ValidatingAdmissionPolicy).Spec
		setDefault(&spec.FailurePolicy, admissionregistrationv1beta1.Fail)
		defaultLegacyMatch(spec.MatchConstraints)
	})
	s.AddTypeDefaultingFunc(&admissionregistrationv1beta1.ValidatingAdmissionPolicyBinding{}, func(obj any) {
		defaultLegacyMatch(obj.(*admissionregistrationv1beta1.ValidatingAdmissionPolicyBinding).Spec.MatchResources)
	})
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func defaultMatch(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	setDefault(&m.MatchPolicy, admissionregistrationv1.Equivalent)
	setDefault(&m.NamespaceSelector, metav1.LabelSelector{})
	setDefault(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			setDefault(&rules[i].Scope, admissionregistrationv1.AllScopes)
		}
	}
}

func defaultLegacyMatch(m *admissionregistrationv1beta1.MatchResources) {
	if m == nil {
		return
	}
	setDefault(&m.MatchPolicy, admissionregistrationv1beta1.Equivalent)
	setDefault(&m.NamespaceSelector, metav1.LabelSelector{})
	setDefault(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]admissionregistrationv1beta1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			setDefault(&rules[i].Scope, admissionregistrationv1.AllScopes)
		}
	}
}
