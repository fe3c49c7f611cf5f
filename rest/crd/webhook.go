package crd

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
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
			return Anonymous(services)
		})
		if err != nil {
			return nil, err
		}
		_, unsafe, err := factory.NewConverter(&crd)
		return unsafe, err
	})
}

// Anonymous shows no credentials to webhooks, and reaches services as they say.
func Anonymous(services webhook.ServiceResolver) webhook.AuthenticationInfoResolver {
	dialer, _ := services.(Dialer)
	return anonymous{dialer}
}

// Dialer is a ServiceResolver that also makes the connections to its services,
// which may be no sockets.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

type anonymous struct{ dialer Dialer }

func (anonymous) ClientConfigFor(string) (*rest.Config, error) { return &rest.Config{}, nil }
func (a anonymous) ClientConfigForService(string, string, int) (*rest.Config, error) {
	if a.dialer == nil {
		return &rest.Config{}, nil
	}
	return &rest.Config{Dial: a.dialer.DialContext}, nil
}
