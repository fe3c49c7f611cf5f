package operator

import (
	"context"
	"errors"

	admission "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	admissionwebhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const defaultLanguage = "en"

// defaulter gives a greeting its language.
type defaulter struct{}

func (defaulter) Default(_ context.Context, g *Greeting) error {
	if g.Spec.Language == "" {
		g.Spec.Language = defaultLanguage
	}
	return nil
}

const refusal = "a greeting needs a text"

// validator refuses a greeting without a text.
type validator struct{}

func (validator) ValidateCreate(_ context.Context, g *Greeting) (admissionwebhook.Warnings, error) {
	if g.Spec.Text == "" {
		return nil, errors.New(refusal)
	}
	return nil, nil
}

func (v validator) ValidateUpdate(ctx context.Context, _, g *Greeting) (admissionwebhook.Warnings, error) {
	return v.ValidateCreate(ctx, g)
}

func (validator) ValidateDelete(context.Context, *Greeting) (admissionwebhook.Warnings, error) {
	return nil, nil
}

// webhooksName is what both configurations in webhooks.yaml are called.
const webhooksName = "greetings.conformance.example.com"

// registered looks whether the webhooks of the manifests refer to a server that can be
// trusted.
func (o *operator) registered(ctx context.Context) error {
	var mutating admission.MutatingWebhookConfiguration
	var validating admission.ValidatingWebhookConfiguration
	for _, c := range []client.Object{&mutating, &validating} {
		if err := o.client.Get(ctx, client.ObjectKey{Name: webhooksName}, c); err != nil {
			return err
		}
	}
	if len(mutating.Webhooks[0].ClientConfig.CABundle) == 0 || len(validating.Webhooks[0].ClientConfig.CABundle) == 0 {
		return errors.New("a webhook has no caBundle")
	}
	return nil
}
