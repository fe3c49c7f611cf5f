package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	utiljson "github.com/fakecluster/fakecluster/remote/internal/json"
)

// callablesField is the setting with the handlers. It is not sent to the host.
const callablesField = "handlers of the process"

// call adds a handler to the settings.
func (s settings) call(h http.Handler) *callable {
	made := &callable{handler: h}
	add(s, callablesField, made)
	return made
}

// Service makes a handler of this process reachable for webhooks and APIServices that refer to a service: a
// namespace, a name and a port. No Service object has to exist. An object that refers to the service needs
// [Cluster.CABundle] as its caBundle. The cluster fills it in for the conversion webhooks of CRDPaths,
// Manifests and Objects, for the webhooks of WebhookPaths, and for the APIServices of Manifests and Objects.
// The option may be given more than once.
//
// In a testing/synctest bubble the handler runs in the bubble: it may sleep, wait and send requests
// to the cluster. If the timeoutSeconds of a webhook pass in virtual time meanwhile, the call
// fails. The context of the request ends with the call. If the handler panics or ends its
// goroutine, the connection of the call closes, as with net/http. Requests that upgrade their
// connection do not work in a bubble.
func Service(namespace, name string, port int, h http.Handler) Option {
	return func(s settings) error {
		if isNilHandler(h) {
			return fmt.Errorf("Service: the handler for %s.%s.svc:%d is nil", name, namespace, port)
		}
		add(s, "services", struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
			Port      int    `json:"port"`
			*callable
		}{namespace, name, port, s.call(h)})
		return nil
	}
}

// Conversion converts the objects of a definition, such as crontabs.example.com, by a handler of this process: a [ConversionFunc], or any
// other http.Handler that answers ConversionReviews, such as that of controller-runtime. The option may be given more than once, for other
// definitions.
func Conversion(definition string, h http.Handler) Option {
	return func(s settings) error {
		if isNilHandler(h) {
			return fmt.Errorf("Conversion: the handler for %s is nil", definition)
		}
		add(s, "conversions", struct {
			Definition string `json:"definition"`
			*callable
		}{definition, s.call(h)})
		return nil
	}
}

// serviceAddress is the address of a handler of Service.
type serviceAddress struct {
	Namespace, Name, Address string
	Port                     int
}

// ServiceURL returns the address of a handler of [Service], such as https://127.0.0.1:34567, for webhook configurations with a url. In a
// bubble it is an address that only the cluster itself can reach. It is empty if there is no such handler.
func (c *Cluster) ServiceURL(namespace, name string, port int) string {
	for _, s := range c.description.Services {
		if s.Namespace == namespace && s.Name == name && s.Port == port {
			return s.Address
		}
	}
	return ""
}

// ServeWebhooks makes a handler of this process answer the webhooks of [WebhookPaths] and the conversion
// webhooks of [CRDPaths], in place of a server on the address of [Cluster.WebhookServer]: the handler of that
// server, such as the WebhookMux of controller-runtime's. It works in a testing/synctest bubble, where a
// server cannot listen; [Service] describes what a handler may do there. A further call replaces the handler.
// A fork needs a call of its own.
func (c *Cluster) ServeWebhooks(h http.Handler) error {
	switch {
	case isNilHandler(h):
		return errors.New("ServeWebhooks: the handler is nil")
	case c.checkPlace() != nil:
		return fmt.Errorf("ServeWebhooks: %w", c.checkPlace())
	case c.description.WebhookServer.Port == 0:
		return errors.New("ServeWebhooks: no webhook calls the handler: start the cluster with WebhookPaths, " +
			"and with the folder of the definitions if only conversion webhooks call it, as WebhookPaths(\"config/crd\")")
	}
	one := &callable{handler: h}
	if err := c.register([]*callable{one}); err != nil {
		return fmt.Errorf("ServeWebhooks: %w", err)
	}
	if err := c.do("POST", "/webhooks", one, nil); err != nil {
		c.forget(one.Function)
		return fmt.Errorf("ServeWebhooks: %w", err)
	}
	return nil
}

// ConversionFunc converts an object to another version: it changes obj to what it is in apiVersion, such as example.com/v1. The field
// apiVersion is set after it returns. An error fails the request that needs the conversion, with the text of the error. Whole numbers in obj are
// of the type int64, as in unstructured objects.
//
// Several goroutines may call it at the same time. The context ends with the call of the webhook.
//
// A ConversionFunc is the http.Handler of a conversion webhook, for [Conversion] and [Service].
type ConversionFunc func(ctx context.Context, obj map[string]any, apiVersion string) error

// conversionReview is a ConversionReview of apiextensions.k8s.io/v1 or v1beta1.
type conversionReview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    *struct {
		UID               string            `json:"uid"`
		DesiredAPIVersion string            `json:"desiredAPIVersion"`
		Objects           []json.RawMessage `json:"objects"`
	} `json:"request,omitempty"`
	Response *conversionResponse `json:"response,omitempty"`
}

type conversionResponse struct {
	UID              string           `json:"uid"`
	ConvertedObjects []map[string]any `json:"convertedObjects"`
	Result           struct {
		Status  string `json:"status"`
		Message string `json:"message,omitempty"`
	} `json:"result"`
}

// ServeHTTP answers a ConversionReview. A body that is not a ConversionReview is answered with 400.
func (f ConversionFunc) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review conversionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if review.Request == nil {
		http.Error(w, "a ConversionReview without a request", http.StatusBadRequest)
		return
	}
	answer := &conversionResponse{UID: review.Request.UID, ConvertedObjects: []map[string]any{}}
	answer.Result.Status = "Success"
	for _, raw := range review.Request.Objects {
		var obj map[string]any
		err := utiljson.Unmarshal(raw, &obj)
		if err == nil && obj == nil {
			err = errors.New("the object is null")
		}
		if err == nil {
			err = f(req.Context(), obj, review.Request.DesiredAPIVersion)
		}
		if err != nil {
			answer.Result.Status, answer.Result.Message = "Failure", err.Error()
			answer.ConvertedObjects = nil
			break
		}
		obj["apiVersion"] = review.Request.DesiredAPIVersion
		answer.ConvertedObjects = append(answer.ConvertedObjects, obj)
	}
	review.Request, review.Response = nil, answer
	text, err := json.Marshal(review)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // an error means that the caller has gone
}
