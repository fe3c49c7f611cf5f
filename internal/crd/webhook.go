package crd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// webhookConverter returns the function that makes the converter of a definition with a
// conversion webhook. The converter is made when the first object needs it.
func webhookConverter(definition string, outside Outside) func() (runtime.ObjectConvertor, error) {
	return sync.OnceValues(func() (runtime.ObjectConvertor, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := json.Unmarshal([]byte(definition), &crd); err != nil {
			return nil, fmt.Errorf("reading the definition: %w", err)
		}
		factory, err := conversion.NewCRConverterFactory(outside.Services, func(r webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
			return Anonymous(outside)
		})
		if err != nil {
			return nil, err
		}
		_, unsafe, err := factory.NewConverter(&crd)
		return unsafe, err
	})
}

// Anonymous configures calls of webhooks, without credentials. It reaches services as
// outside says. The user agent and the timeout are those of a real server.
func Anonymous(outside Outside) webhook.AuthenticationInfoResolver {
	return anonymous{outside.Services, outside.Closing}
}

type anonymous struct {
	services Services // nil: there are none
	closing  context.Context
}

// ClientConfigFor implements webhook.AuthenticationInfoResolver. It sets Proxy to keep the
// transport out of client-go's cache, which belongs to the process and outlives a cluster.
func (a anonymous) ClientConfigFor(string) (*rest.Config, error) {
	config := &rest.Config{UserAgent: "kube-apiserver-admission", Timeout: 30 * time.Second, Proxy: http.ProxyFromEnvironment}
	config.Wrap(func(to http.RoundTripper) http.RoundTripper { return calls{to, a.closing} })
	if a.services != nil {
		config.Dial = a.services.DialContext
	}
	return config, nil
}

// ClientConfigForService implements webhook.AuthenticationInfoResolver. It uses no proxy,
// because a proxy could not resolve the names of services.
func (a anonymous) ClientConfigForService(name, namespace string, port int) (*rest.Config, error) {
	config, err := a.ClientConfigFor("")
	if a.services != nil {
		config.TLSClientConfig.ServerName = a.services.ServerName(namespace, name, int32(port))
	}
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	return config, err
}
