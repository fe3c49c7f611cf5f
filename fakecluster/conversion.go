package fakecluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// ConversionFunc converts an object to another version: it changes obj to what it is in
// apiVersion, such as example.com/v1. The field apiVersion is set after it returns. An error
// fails the request that needs the conversion, with the text of the error.
//
// Several goroutines may call it at the same time, one for each request that is under way.
// The context ends with the call of the webhook.
//
// A ConversionFunc is the http.Handler of a conversion webhook, for WithConversion and
// WithService. It is called for the objects of a ConversionReview one after the other.
type ConversionFunc func(ctx context.Context, obj *unstructured.Unstructured, apiVersion string) error

// ServeHTTP answers a ConversionReview, in the version of the review. A body that is not a
// ConversionReview with a request is answered with 400.
func (f ConversionFunc) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	// v1beta1 has the same fields.
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if review.Request == nil {
		http.Error(w, "a ConversionReview without a request", http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID}
	if converted, err := f.convertAll(req.Context(), review.Request); err != nil {
		review.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
	} else {
		review.Response.Result = metav1.Status{Status: metav1.StatusSuccess}
		review.Response.ConvertedObjects = converted
	}
	review.Request = nil
	answer, err := json.Marshal(review)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // an error means that the caller has gone
}

func (f ConversionFunc) convertAll(ctx context.Context, r *apiextensionsv1.ConversionRequest) ([]runtime.RawExtension, error) {
	converted := make([]runtime.RawExtension, len(r.Objects))
	for i, raw := range r.Objects {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(raw.Raw); err != nil {
			return nil, err
		}
		if err := f(ctx, u, r.DesiredAPIVersion); err != nil {
			return nil, err
		}
		u.SetAPIVersion(r.DesiredAPIVersion)
		converted[i].Object = u
	}
	return converted, nil
}

// conversion has the arguments of one WithConversion.
type conversion struct {
	definition string
	handler    http.Handler
}

// service returns the service of the webhook. It has the name of the definition.
func (c conversion) service() service {
	return service{metav1.NamespaceDefault, c.definition, 443, c.handler}
}

// WithConversion converts the objects of a definition, such as crontabs.example.com, by a
// handler in the test: a ConversionFunc, or any other http.Handler that answers
// ConversionReviews, such as that of controller-runtime. The spec.conversion of the definition
// is replaced by a webhook that reaches the handler over TLS.
//
// The definition has to be one of WithCRDPaths or WithObjects, in apiextensions.k8s.io/v1;
// anything else is an error. The option may be given more than once, for other definitions.
// For a definition that refers to a conversion webhook by its own service, use WithService.
//
// Default: objects are converted as spec.conversion of the definition specifies.
func WithConversion(definition string, h http.Handler) Option {
	return func(s *settings) { s.conversions = append(s.conversions, conversion{definition, h}) }
}

// checkConversions returns an error for impossible conversions.
func (s *settings) checkConversions() error {
	seen := map[string]bool{}
	for _, c := range s.conversions {
		switch {
		case c.definition == "":
			return errors.New("WithConversion: the name of the definition is empty; write one such as crontabs.example.com")
		case isNilHandler(c.handler):
			return fmt.Errorf("WithConversion: the handler for %s is nil; give a ConversionFunc or an http.Handler", c.definition)
		case seen[c.definition]:
			return fmt.Errorf("WithConversion: %s is given twice; give one handler for each definition", c.definition)
		}
		seen[c.definition] = true
	}
	return nil
}

// convert replaces the spec.conversion of a definition that WithConversion names.
func (c *Cluster) convert(definition *unstructured.Unstructured) error {
	for _, one := range c.settings.conversions {
		if one.definition != definition.GetName() {
			continue
		}
		if v := apiextensionsv1.SchemeGroupVersion.String(); definition.GetAPIVersion() != v {
			return fmt.Errorf("WithConversion: the definition %s is in %s; write it in %s", one.definition, definition.GetAPIVersion(), v)
		}
		c.converted[one.definition] = true
		s := one.service()
		return unstructured.SetNestedMap(definition.Object, map[string]any{
			"strategy": string(apiextensionsv1.WebhookConverter),
			"webhook": map[string]any{
				"conversionReviewVersions": []any{apiextensionsv1.SchemeGroupVersion.Version},
				"clientConfig": map[string]any{
					"service":  map[string]any{"namespace": s.namespace, "name": s.name, "port": int64(s.port)},
					"caBundle": base64.StdEncoding.EncodeToString(c.CABundle()),
				},
			},
		}, "spec", "conversion")
	}
	return nil
}
