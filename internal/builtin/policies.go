package builtin

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fakecluster/fakecluster/internal/builtin/admissionregistration"
)

// policies are the kinds of admission policies and their bindings. They follow
// k8s.io/kubernetes' pkg/registry/admissionregistration.
var policies = []kind{
	{
		GroupVersionKind: admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"),
		names:            []string{"validatingadmissionpolicies", "validatingadmissionpolicy"},
		categories:       []string{"api-extensions"},
		clusterScoped:    true,
		conditionalOnly:  true,
		legacy:           []string{admissionregistrationv1beta1.SchemeGroupVersion.Version},
		rules: rules{
			prepare: func(obj, old runtime.Object) {
				policy, was := pair[admissionregistrationv1.ValidatingAdmissionPolicy](obj, old)
				policy.Status = admissionregistrationv1.ValidatingAdmissionPolicyStatus{}
				if was != nil {
					policy.Status = was.Status
				}
				countSpec(func(obj *admissionregistrationv1.ValidatingAdmissionPolicy) any { return obj.Spec })(obj, old)
			},
			validate: func(obj, old runtime.Object) field.ErrorList {
				return admissionregistration.ValidateValidatingAdmissionPolicy(pair[admissionregistrationv1.ValidatingAdmissionPolicy](obj, old))
			},
			reset: []string{"status"},
		},
		status: &rules{
			prepare: func(obj, old runtime.Object) {
				policy, was := pair[admissionregistrationv1.ValidatingAdmissionPolicy](obj, old)
				policy.Spec = was.Spec
				metav1.ResetObjectMetaForStatus(&policy.ObjectMeta, &was.ObjectMeta)
			},
			validate: func(obj, _ runtime.Object) field.ErrorList {
				return admissionregistration.ValidateValidatingAdmissionPolicyStatus(&obj.(*admissionregistrationv1.ValidatingAdmissionPolicy).Status)
			},
			reset: []string{"spec", "metadata"},
		},
		columns: policyColumns("Validations", "Validations indicates the number of validation rules defined in this configuration",
			func(p *admissionregistrationv1.ValidatingAdmissionPolicy) (int, *admissionregistrationv1.ParamKind) {
				return len(p.Spec.Validations), p.Spec.ParamKind
			}),
	},
	{
		GroupVersionKind: admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"),
		names:            []string{"validatingadmissionpolicybindings", "validatingadmissionpolicybinding"},
		categories:       []string{"api-extensions"},
		clusterScoped:    true,
		conditionalOnly:  true,
		legacy:           []string{admissionregistrationv1beta1.SchemeGroupVersion.Version},
		rules: rules{
			prepare: countSpec(func(obj *admissionregistrationv1.ValidatingAdmissionPolicyBinding) any { return obj.Spec }),
			validate: func(obj, _ runtime.Object) field.ErrorList {
				return admissionregistration.ValidateValidatingAdmissionPolicyBinding(obj.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding))
			},
		},
		columns: bindingColumns(func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) (string, *admissionregistrationv1.ParamRef) {
			return b.Spec.PolicyName, b.Spec.ParamRef
		}),
	},
	{
		GroupVersionKind: admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy"),
		names:            []string{"mutatingadmissionpolicies", "mutatingadmissionpolicy"},
		categories:       []string{"api-extensions"},
		clusterScoped:    true,
		conditionalOnly:  true,
		rules: rules{
			prepare: countSpec(func(obj *admissionregistrationv1.MutatingAdmissionPolicy) any { return obj.Spec }),
			validate: func(obj, old runtime.Object) field.ErrorList {
				return admissionregistration.ValidateMutatingAdmissionPolicy(pair[admissionregistrationv1.MutatingAdmissionPolicy](obj, old))
			},
		},
		columns: policyColumns("Mutations", "Mutation indicates the number of mutations rules defined in this configuration",
			func(p *admissionregistrationv1.MutatingAdmissionPolicy) (int, *admissionregistrationv1.ParamKind) {
				return len(p.Spec.Mutations), p.Spec.ParamKind
			}),
	},
	{
		GroupVersionKind: admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicyBinding"),
		names:            []string{"mutatingadmissionpolicybindings", "mutatingadmissionpolicybinding"},
		categories:       []string{"api-extensions"},
		clusterScoped:    true,
		conditionalOnly:  true,
		rules: rules{
			prepare: countSpec(func(obj *admissionregistrationv1.MutatingAdmissionPolicyBinding) any { return obj.Spec }),
			validate: func(obj, _ runtime.Object) field.ErrorList {
				return admissionregistration.ValidateMutatingAdmissionPolicyBinding(obj.(*admissionregistrationv1.MutatingAdmissionPolicyBinding))
			},
		},
		columns: bindingColumns(func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) (string, *admissionregistrationv1.ParamRef) {
			return b.Spec.PolicyName, b.Spec.ParamRef
		}),
	},
}

// pair converts an object and the old one to their Go type. The old one is nil for a create.
func pair[T any, P interface {
	*T
	runtime.Object
}](obj, old runtime.Object) (is, was P) {
	if old != nil {
		was = old.(P)
	}
	return obj.(P), was
}

// countSpec increments the generation when the spec changes.
func countSpec[P runtime.Object](spec func(P) any) func(obj, old runtime.Object) {
	return func(obj, old runtime.Object) {
		switch {
		case old == nil:
			accessor(obj).SetGeneration(1)
		case !equality.Semantic.DeepEqual(spec(obj.(P)), spec(old.(P))):
			accessor(obj).SetGeneration(accessor(old).GetGeneration() + 1)
		}
	}
}

// policyColumns returns the columns of a kind of policies: the number of their expressions, and
// the kind of their parameters.
func policyColumns[P runtime.Object](counted, description string, of func(P) (int, *admissionregistrationv1.ParamKind)) []column {
	return []column{nameColumn,
		{
			metav1.TableColumnDefinition{Name: counted, Type: "integer", Description: description},
			func(obj runtime.Object) any { n, _ := of(obj.(P)); return int64(n) },
		},
		textColumn("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy", 0, func(p P) any {
			if _, kind := of(p); kind != nil {
				return kind.APIVersion + "/" + kind.Kind
			}
			return "<unset>"
		}),
		ageColumn,
	}
}

// bindingColumns returns the columns of a kind of bindings.
func bindingColumns[B runtime.Object](of func(B) (policy string, ref *admissionregistrationv1.ParamRef)) []column {
	return []column{nameColumn,
		textColumn("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to", 0, func(b B) any {
			policy, _ := of(b)
			return policy
		}),
		textColumn("ParamRef", "ParamRef indicates the param resource which sets the configration param", 0, func(b B) any {
			switch _, ref := of(b); {
			case ref == nil:
				return "<unset>"
			case ref.Name != "" && ref.Namespace != "":
				return ref.Namespace + "/" + ref.Name
			case ref.Name != "":
				return "*/" + ref.Name
			case ref.Selector != nil:
				return ref.Selector.String()
			}
			return "<unset>"
		}),
		ageColumn,
	}
}
