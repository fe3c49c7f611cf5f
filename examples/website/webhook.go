package website

import (
	"context"
	"html/template"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// +kubebuilder:webhook:path=/mutate-example-com-v1-website,mutating=true,failurePolicy=fail,sideEffects=None,groups=example.com,resources=websites,verbs=create;update,versions=v1,name=default.websites.example.com,admissionReviewVersions=v1

// Defaulter gives a Website the image of the operator: a default that does not exist when the
// definition is written.
type Defaulter struct {
	Image string
}

// Default fills in what a Website leaves to the operator.
func (d Defaulter) Default(_ context.Context, site *Website) error {
	if site.Spec.Image == "" {
		site.Spec.Image = d.Image
	}
	return nil
}

// +kubebuilder:webhook:path=/validate-example-com-v1-website,mutating=false,failurePolicy=fail,sideEffects=None,groups=example.com,resources=websites,verbs=create;update,versions=v1,name=validate.websites.example.com,admissionReviewVersions=v1

// Validator refuses a page that is not a template: a rule that a schema cannot express.
type Validator struct{}

// ValidateCreate validates a new Website.
func (Validator) ValidateCreate(_ context.Context, site *Website) (admission.Warnings, error) {
	if _, err := template.New("page").Parse(site.Spec.Page); err != nil {
		return nil, apierrors.NewInvalid(GroupVersion.WithKind("Website").GroupKind(), site.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "page"), site.Spec.Page, err.Error()),
		})
	}
	return nil, nil
}

// ValidateUpdate validates a Website as it will be.
func (v Validator) ValidateUpdate(ctx context.Context, _, site *Website) (admission.Warnings, error) {
	return v.ValidateCreate(ctx, site)
}

// ValidateDelete allows every delete; the webhook is not registered for it.
func (Validator) ValidateDelete(context.Context, *Website) (admission.Warnings, error) {
	return nil, nil
}
