package builtin

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fakecluster/fakecluster/rest/resource"
)

// kind is a built-in kind that is served without anything of its own: decoded
// by its Go type, held to the rules of metadata, and stored.
type kind struct {
	schema.GroupVersionKind
	names           []string // plural, singular, short names
	conditionalOnly bool     // an update must say what it has seen
	createOnUpdate  bool
	prepare         func(runtime.Object)
	columns         []column
}

// kinds are the kinds that operators cannot do without.
var kinds = []kind{
	{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		names:            []string{"configmaps", "configmap", "cm"},
		columns:          configMapColumns,
	},
	{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"),
		names:            []string{"events", "event", "ev"},
		createOnUpdate:   true,
		columns:          eventColumns,
	},
	{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"),
		names:            []string{"secrets", "secret"},
		prepare:          prepareSecret,
		columns:          secretColumns,
	},
	{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
		names:            []string{"serviceaccounts", "serviceaccount", "sa"},
		columns:          serviceAccountColumns,
	},
	{
		GroupVersionKind: coordinationv1.SchemeGroupVersion.WithKind("Lease"),
		names:            []string{"leases", "lease"},
		conditionalOnly:  true,
		createOnUpdate:   true,
		columns:          leaseColumns,
	},
}

// Resources are the resources of the built-in kinds but namespaces.
func Resources() []*resource.Resource {
	all := make([]*resource.Resource, len(kinds))
	for i, k := range kinds {
		all[i] = k.resource()
	}
	return all
}

func (k kind) resource() *resource.Resource {
	plural, singular, short := k.names[0], k.names[1], k.names[2:]
	r := &resource.Resource{
		Group: k.Group,
		Names: resource.Names{
			Plural: plural, Singular: singular, ShortNames: short, Kind: k.Kind, ListKind: k.Kind + "List",
		},
		Namespaced: true,
		Verbs:      []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		Prefix:     "/registry/" + plural + "/",
	}
	codec := resource.NewTypedCodec(scheme.Scheme, k.GroupVersionKind, k.GroupVersion(), nil)
	r.Storage = &resource.Version{
		Resource: r, Name: k.Version, Served: true, Typed: true, Identity: k.Version,
		Codec:        codec,
		Serializer:   codec.Serializer(),
		Strategy:     plainStrategy{scheme.Scheme, names.SimpleNameGenerator, k},
		Table:        tableOf(k.columns),
		FieldManager: resource.TypedFieldManager(scheme.Scheme, types, k.GroupVersionKind, k.GroupVersion(), ""),
	}
	r.Storage.OpenAPI = resource.TypedOpenAPI(r.Storage, codec.New())
	r.Versions = []*resource.Version{r.Storage}
	return r
}

// plainStrategy holds objects to the rules of metadata and nothing else.
type plainStrategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind kind
}

func (plainStrategy) NamespaceScoped() bool { return true }

func (s plainStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	if s.kind.prepare != nil {
		s.kind.prepare(obj)
	}
}

func (s plainStrategy) PrepareForUpdate(_ context.Context, obj, _ runtime.Object) {
	if s.kind.prepare != nil {
		s.kind.prepare(obj)
	}
}

func (s plainStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	metadata := accessor(obj)
	return apivalidation.ValidateObjectMetaAccessor(metadata, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

func (s plainStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return nil // the pipeline validates metadata
}

func (plainStrategy) Canonicalize(runtime.Object)                     {}
func (s plainStrategy) AllowCreateOnUpdate(context.Context) bool      { return s.kind.createOnUpdate }
func (s plainStrategy) AllowUnconditionalUpdate(context.Context) bool { return !s.kind.conditionalOnly }

func (plainStrategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }
func (plainStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// prepareSecret moves the text that a client wrote into the bytes that it
// stands for.
func prepareSecret(obj runtime.Object) {
	secret := obj.(*corev1.Secret)
	if secret.Type == "" {
		secret.Type = corev1.SecretTypeOpaque
	}
	if len(secret.StringData) > 0 && secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for key, text := range secret.StringData {
		secret.Data[key] = []byte(text)
	}
	secret.StringData = nil
}
