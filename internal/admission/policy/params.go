package policy

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// paramVersion returns the version of the resource of a policy's parameters; nil: the policy has none.
func paramVersion(kind *admissionregistrationv1.ParamKind, r *request) (*resource.Version, error) {
	if kind == nil {
		return nil, nil
	}
	gv, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("failed to parse paramKind APIVersion: %w", err)
	}
	if v := versionOf(r.Cluster.Registry(), gv.WithKind(kind.Kind)); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", gv.WithKind(kind.Kind))
}

// versionOf returns the version that serves a kind, or nil.
func versionOf(c *resource.Registry, kind schema.GroupVersionKind) *resource.Version {
	group := c.Group(kind.Group)
	if group == nil {
		return nil
	}
	for _, res := range group.Resources {
		if res.Names.Kind != kind.Kind {
			continue
		}
		if v := res.Version(kind.Version); v != nil && v.Served {
			return v
		}
	}
	return nil
}

// paramsOf returns the parameters with which to evaluate a binding. A binding without parameters has the single
// parameter nil. If the list is empty, the binding is not evaluated.
func paramsOf(ctx context.Context, kind *admissionregistrationv1.ParamKind, v *resource.Version, ref *admissionregistrationv1.ParamRef, r *request) ([]runtime.Object, error) {
	if v == nil || ref == nil {
		return []runtime.Object{nil}, nil
	}
	if v.Unstored.Review != nil {
		return nil, fmt.Errorf("paramKind kind `%v` not yet synced to use for admission", kind) // a real server waits for its informer; here the kind is not served
	}
	namespace := ""
	switch {
	case !v.Resource.Namespaced && ref.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !v.Resource.Namespaced:
	case ref.Namespace != "":
		namespace = ref.Namespace
	case r.namespace != "":
		namespace = r.namespace
	default:
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	}
	found, err := findParams(v, ref, namespace, r)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && ref.ParameterNotFoundAction != nil && *ref.ParameterNotFoundAction == admissionregistrationv1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	if len(found) > 0 && v.Resource.Group == "" && v.Resource.Names.Plural == "secrets" {
		r.Observe.HoldsSecret(ctx) // a message may quote the parameter
	}
	for i, obj := range found {
		if found[i], err = asMap(obj, v.Kind()); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func findParams(v *resource.Version, ref *admissionregistrationv1.ParamRef, namespace string, r *request) ([]runtime.Object, error) {
	if ref.Name != "" {
		obj, err := r.Cluster.Get(v, namespace, ref.Name)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []runtime.Object{obj}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
	if err != nil {
		return nil, err
	}
	return r.Cluster.List(v, namespace, selector)
}

// asMap returns a parameter for expressions: a map with apiVersion and kind.
func asMap(obj runtime.Object, kind schema.GroupVersionKind) (runtime.Object, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(kind)
	return u, nil
}
