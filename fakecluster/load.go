package fakecluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tidwall/gjson"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/internal/redact"
)

// load creates the objects that the options ask for.
func (c *Cluster) load(ctx context.Context) error {
	for _, path := range c.settings.crdPaths {
		if err := c.loadDefinitions(ctx, path); err != nil {
			return err
		}
	}
	if err := c.loadAdditions(ctx); err != nil {
		return err
	}
	for _, one := range c.settings.conversions {
		if !c.converted[one.definition] {
			return fmt.Errorf("WithConversion: there is no definition %s; give it to WithCRDPaths, WithManifests or WithObjects", one.definition)
		}
	}
	// Last, because nothing may call these webhooks while the cluster is loaded: their
	// servers may not run yet.
	for _, u := range c.settings.webhooks {
		u = u.DeepCopy()
		c.services.trustWebhooks(u)
		if err := c.create(ctx, u); err != nil {
			return fmt.Errorf("%s %q: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}

// loadDefinitions installs the definitions in a file, or in the files of a folder, and
// ignores other kinds.
func (c *Cluster) loadDefinitions(ctx context.Context, root string) error {
	found := false
	err := eachManifest("CRD path", root, func(m manifests.Manifest) error {
		if !isDefinition(m.GroupVersionKind()) {
			return nil
		}
		found = true
		m, err := c.prepareManifest(m)
		if err != nil {
			return err
		}
		return c.install(ctx, m)
	})
	if err == nil && !found {
		return fmt.Errorf("CRD path %s: no CustomResourceDefinition in it; WithManifests creates objects of other kinds", root)
	}
	return err
}

// eachManifest visits the objects in a manifest file, or in the files of a folder, as manifests.Each does.
func eachManifest(option, root string, visit func(manifests.Manifest) error) error {
	if why, missing := strings.CutPrefix(root, noModule); missing {
		return fmt.Errorf("%s: %s", option, why)
	}
	return manifests.Each(option, root, visit)
}

func isDefinition(kind schema.GroupVersionKind) bool {
	return kind.GroupKind() == apiextensionsv1.Kind("CustomResourceDefinition")
}

func isAPIService(kind schema.GroupVersionKind) bool {
	return kind.Group == apiregistrationv1.GroupName && kind.Kind == "APIService"
}

// prepareManifest changes the conversion webhook of a definition so that it reaches the handlers of the
// options.
func (c *Cluster) prepareManifest(m manifests.Manifest) (manifests.Manifest, error) {
	converts := gjson.GetBytes(m.Text, "spec.conversion.strategy").Str == string(apiextensionsv1.WebhookConverter)
	if !converts && len(c.settings.conversions) == 0 {
		return m, nil
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(m.Text, &u.Object); err != nil {
		return m, err
	}
	err := c.prepareDefinition(u)
	if err == nil {
		m.Text, err = json.Marshal(u.Object)
	}
	return m, err
}

func (c *Cluster) prepareDefinition(u *unstructured.Unstructured) error {
	c.services.trust(u, "spec", "conversion", "webhook", "clientConfig")
	c.services.trust(u, "spec", "conversion", "webhookClientConfig") // in v1beta1
	return c.convert(u)
}

// install creates a definition from the text of its manifest.
func (c *Cluster) install(ctx context.Context, m manifests.Manifest) error {
	kind := m.GroupVersionKind()
	if err := c.servesDefinitions(kind, m.GetName()); err != nil {
		return err
	}
	client, path := c.clients.Extensions.ApiextensionsV1().RESTClient(), []string{"/apis", kind.Group, kind.Version, "customresourcedefinitions"}
	err := client.Post().AbsPath(path...).Body(m.Text).Do(ctx).Error()
	if !c.resumed || !apierrors.IsAlreadyExists(err) {
		return err
	}
	// The manifest replaces the stored definition.
	path = append(path, m.GetName())
	former, err := client.Get().AbsPath(path...).Do(ctx).Raw()
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(m.Text, &u.Object); err != nil {
		return err
	}
	u.SetResourceVersion(gjson.GetBytes(former, "metadata.resourceVersion").Str)
	text, err := json.Marshal(u.Object)
	if err != nil {
		return err
	}
	return client.Put().AbsPath(path...).Body(text).Do(ctx).Error()
}

// replaced reports whether a manifest or an option overrides the stored objects of a kind when a cluster
// is resumed. It does for kinds that depend on this process, such as APIService.
func replaced(kind schema.GroupKind) bool {
	return isDefinition(kind.WithVersion("")) || isAPIService(kind.WithVersion("")) || kind.Group == admissionregistrationv1.GroupName
}

// servesDefinitions rejects definitions in v1beta1, unless the cluster serves legacy APIs.
func (c *Cluster) servesDefinitions(kind schema.GroupVersionKind, name string) error {
	if kind.GroupVersion() == apiextensionsv1beta1.SchemeGroupVersion && !c.settings.legacyAPIs {
		return fmt.Errorf("%s %q is in %s, which only a cluster with legacy APIs serves; write it in %s", kind.Kind, name, kind.GroupVersion(), apiextensionsv1.SchemeGroupVersion)
	}
	return nil
}

var errNilObject = errors.New("the object is nil")

// toUnstructured converts a typed object. If the object does not name its kind, it gets the kind that its
// type has in the scheme of WithScheme or in client-go's.
func (s *settings) toUnstructured(obj runtime.Object) (*unstructured.Unstructured, error) {
	if v := reflect.ValueOf(obj); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errNilObject
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy(), nil
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	if kind.Empty() {
		kinds, _, err := scheme.Scheme.ObjectKinds(obj)
		switch obj.(type) {
		case *apiextensionsv1.CustomResourceDefinition:
			kinds, err = append(kinds, apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")), nil
		case *apiextensionsv1beta1.CustomResourceDefinition:
			kinds, err = append(kinds, apiextensionsv1beta1.SchemeGroupVersion.WithKind("CustomResourceDefinition")), nil
		case *apiregistrationv1.APIService:
			kinds, err = append(kinds, apiregistrationv1.SchemeGroupVersion.WithKind("APIService")), nil
		}
		if s.scheme != nil {
			if own, _, ownErr := s.scheme.ObjectKinds(obj); ownErr == nil {
				kinds, err = own, nil
			}
		}
		if err != nil {
			return nil, fmt.Errorf("the kind of %T is unknown: %w; set its apiVersion and kind, or give its scheme to WithScheme", obj, err)
		}
		kind = kinds[0]
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("%T: %w", obj, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// keepsItsStatus reports whether only the server itself sets the status of a kind.
func keepsItsStatus(kind schema.GroupKind) bool {
	return kind == apiextensionsv1.Kind("CustomResourceDefinition") || kind == schema.GroupKind{Kind: "Namespace"} ||
		kind == schema.GroupKind{Group: apiregistrationv1.GroupName, Kind: "APIService"}
}

// create creates an object, and writes its status if it has one. Errors do not contain values of Secrets,
// because they go to the log of a test.
func (c *Cluster) create(ctx context.Context, u *unstructured.Unstructured) error {
	return redact.Object(u.Object).Error(c.send(ctx, u))
}

func (c *Cluster) send(ctx context.Context, u *unstructured.Unstructured) error {
	kind := u.GroupVersionKind()
	if err := c.servesDefinitions(kind, u.GetName()); err != nil {
		return err
	}
	mapping, err := c.clients.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = c.clients.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := u.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		client = c.clients.Dynamic.Resource(mapping.Resource).Namespace(namespace)
	}
	created, err := client.Create(ctx, u, metav1.CreateOptions{})
	if c.resumed && apierrors.IsAlreadyExists(err) {
		if !replaced(kind.GroupKind()) {
			return nil
		}
		former, err := client.Get(ctx, u.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		u.SetResourceVersion(former.GetResourceVersion())
		_, err = client.Update(ctx, u, metav1.UpdateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	status, has := u.Object["status"].(map[string]any)
	if !has || len(status) == 0 || keepsItsStatus(kind.GroupKind()) {
		return nil
	}
	created.Object["status"] = status
	// NotFound means that the kind has no subresource status.
	if _, err := client.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}
