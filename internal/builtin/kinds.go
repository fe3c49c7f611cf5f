package builtin

import (
	"context"
	"slices"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	deprecated "k8s.io/apiserver/pkg/endpoints/deprecation"
	"k8s.io/apiserver/pkg/storage/names"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// kind is an entry of a table of built-in kinds. Objects of the kind are decoded by their Go
// type, validated by the rules of metadata and of the kind, and stored.
type kind struct {
	schema.GroupVersionKind          // the version that is stored, and that the functions below work on
	names                   []string // plural, singular, short names
	categories              []string
	clusterScoped           bool
	conditionalOnly         bool // an update needs a resourceVersion
	createOnUpdate          bool

	// also has further versions, to which the scheme converts. legacy has versions that
	// servers of this release no longer have.
	also, legacy []string

	// rules are the rules of the object. status has those of its status subresource, and
	// is nil if there is none.
	rules
	status *rules

	columns []column
	fields  selectable
}

// rules are what the strategy of a kind does beyond the rules of metadata. Each may be nil. The
// old object is nil for a create.
type rules struct {
	prepare  func(obj, old runtime.Object)
	validate func(obj, old runtime.Object) field.ErrorList
	warn     func(obj, old runtime.Object) []string

	// reset has the fields of a request that the endpoint ignores.
	reset []string
}

// kinds are built-in kinds that most operators use.
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
		fields:           eventFields,
	},
	{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"),
		names:            []string{"secrets", "secret"},
		rules:            rules{prepare: prepareSecret},
		columns:          secretColumns,
		fields:           secretFields,
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

// Resources returns the resources of all built-in kinds except namespaces. With legacyAPIs they
// also have versions that Kubernetes has removed.
func Resources(legacyAPIs bool) []*resource.Resource {
	var all []*resource.Resource
	for _, k := range slices.Concat(kinds, webhookConfigurations, policies, storageVersionMigrations) {
		all = append(all, k.resource(legacyAPIs))
	}
	return all
}

func (k kind) resource(legacyAPIs bool) *resource.Resource {
	plural, singular, short := k.names[0], k.names[1], k.names[2:]
	r := &resource.Resource{
		Group: k.Group,
		Names: resource.Names{
			Plural: plural, Singular: singular, ShortNames: short, Categories: k.categories, Kind: k.Kind, ListKind: k.Kind + "List",
		},
		Namespaced: !k.clusterScoped,
		Verbs:      []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		Prefix:     "/registry/" + plural + "/",
	}
	for _, name := range append([]string{k.Version}, k.also...) {
		r.Versions = append(r.Versions, k.version(r, name))
	}
	if legacyAPIs {
		for _, name := range k.legacy {
			v := k.version(r, name)
			v.Warnings, v.RemovedRelease = deprecation(k.GroupKind().WithVersion(name))
			r.Versions = append(r.Versions, v)
		}
	}
	r.Storage = r.Versions[0]
	return r
}

// version returns the resource in one version. Its strategies work on objects of the stored
// version.
func (k kind) version(r *resource.Resource, name string) *resource.Version {
	kind := k.GroupKind().WithVersion(name)
	codec := resource.NewTypedCodec(Scheme(), kind, k.GroupVersion(), k.fields)
	strategy := tableStrategy{Scheme(), names.SimpleNameGenerator, k, k.rules}
	// An endpoint ignores the same fields in every version, because the owners of fields
	// may have another version than the request.
	manager := func(subresource string, reset []string) resource.FieldManager {
		byVersion := map[string][]string{}
		for _, name := range slices.Concat([]string{k.Version}, k.also, k.legacy) {
			byVersion[k.GroupKind().WithVersion(name).GroupVersion().String()] = reset
		}
		return sync.OnceValues(func() (*managedfields.FieldManager, error) {
			return managedfields.NewDefaultFieldManager(types(), Scheme(), Scheme(), Scheme(), kind, k.GroupVersion(), subresource, resource.ResetFields(byVersion))
		})
	}
	v := &resource.Version{
		Resource: r, Name: name, Served: true, Typed: true, Identity: name,
		Codec:        codec,
		Serializer:   codec.Serializer(),
		Strategy:     strategy,
		Table:        tableOf(k.columns),
		Patches:      resource.Patches{StrategicMerge: codec.StrategicMerge},
		FieldManager: manager("", k.reset),
		Types:        knownTypes,
	}
	if k.status != nil {
		strategy.rules = *k.status
		v.Subresource = map[string]*resource.Subresource{"status": {
			Strategy: strategy, Verbs: []string{"get", "patch", "update"}, FieldManager: manager("status", k.status.reset),
		}}
	}
	example, err := Scheme().New(kind)
	if err != nil {
		panic(err) // the scheme is made of the groups of the kinds
	}
	v.OpenAPI = resource.TypedOpenAPI(v, example)
	return v
}

// deprecation returns the warnings that come with every answer in a deprecated version, and the
// release that removed the version.
func deprecation(kind schema.GroupVersionKind) (warnings []string, removedRelease string) {
	obj, err := Scheme().New(kind)
	if err != nil {
		panic(err) // the scheme has all versions of the kinds
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return []string{deprecated.WarningMessage(obj)}, deprecated.RemovedRelease(obj)
}

// tableStrategy is the strategy of a kind of a table.
type tableStrategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind kind
	rules
}

func (s tableStrategy) NamespaceScoped() bool { return !s.kind.clusterScoped }

func (s tableStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	if s.prepare != nil {
		s.prepare(obj, nil)
	}
}

func (s tableStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if s.prepare != nil {
		s.prepare(obj, old)
	}
}

func (s tableStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessor(accessor(obj), s.NamespaceScoped(), apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if s.validate != nil {
		errs = append(errs, s.validate(obj, nil)...)
	}
	return errs
}

// ValidateUpdate validates the rules of the kind. The pipeline validates the metadata.
func (s tableStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	if s.validate == nil {
		return nil
	}
	return s.validate(obj, old)
}

func (tableStrategy) Canonicalize(runtime.Object)                     {}
func (s tableStrategy) AllowCreateOnUpdate(context.Context) bool      { return s.kind.createOnUpdate }
func (s tableStrategy) AllowUnconditionalUpdate(context.Context) bool { return !s.kind.conditionalOnly }

func (s tableStrategy) WarningsOnCreate(ctx context.Context, obj runtime.Object) []string {
	return s.WarningsOnUpdate(ctx, obj, nil)
}

func (s tableStrategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	if s.warn == nil {
		return nil
	}
	return s.warn(obj, old)
}

// prepareSecret sets the default type, and moves stringData into data.
func prepareSecret(obj, _ runtime.Object) {
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
