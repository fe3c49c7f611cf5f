package crd

import (
	"encoding/json"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// webhookConverter makes the converter of a definition that has its objects
// converted by a webhook. It is made when the first object needs it.
func webhookConverter(definition string, services webhook.ServiceResolver) func() (runtime.ObjectConvertor, error) {
	return sync.OnceValues(func() (runtime.ObjectConvertor, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := json.Unmarshal([]byte(definition), &crd); err != nil {
			return nil, fmt.Errorf("reading the definition: %w", err)
		}
		factory, err := conversion.NewCRConverterFactory(services, func(r webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
			return anonymous{}
		})
		if err != nil {
			return nil, err
		}
		_, unsafe, err := factory.NewConverter(&crd)
		return unsafe, err
	})
}

// anonymous shows no credentials to webhooks.
type anonymous struct{}

func (anonymous) ClientConfigFor(string) (*rest.Config, error) { return &rest.Config{}, nil }
func (anonymous) ClientConfigForService(string, string, int) (*rest.Config, error) {
	return &rest.Config{}, nil
}
