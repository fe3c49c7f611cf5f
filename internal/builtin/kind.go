package builtin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	deprecated "k8s.io/apiserver/pkg/endpoints/deprecation"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// group is the table of an API group.
type group struct {
	name  string
	kinds []kind

	// scheme has the types of the group; nil: legacyscheme.Scheme.
	scheme *runtime.Scheme
}

// kind is a built-in kind, one row of a table.
type kind struct {
	kind             string
	plural, singular string
	short            []string
	categories       []string
	clusterScoped    bool
	ofItself         bool     // Resource.NamespaceOfItself
	answersDeleted   bool     // Deletion.AnswersObject of all versions
	answersDeletedIn []string // Deletion.AnswersObject of some versions
	uncached         bool     // Resource.Uncached
	verbs            []string // nil: all

	// versions are always served, the preferred one first. Versions in optional need WithRuntimeConfig, those in legacy
	// WithLegacyAPIs.
	versions, optional, legacy []string
	// gate is the feature gate that the kind needs; empty: none.
	gate featuregate.Feature
	// stored is the storage version, which need not be served; empty: see storage.
	stored string
	// storedIn is the group of the stored objects, which has a kind of the same name; nil: the group of the kind.
	storedIn *string

	// storedUnder is Resource.StoredUnder; empty: the plural.
	storedUnder string

	strategy     resource.Strategy
	subresources map[string]subresource

	// attributes returns the labels and fields that selectors compare; nil: the labels and
	// the fields metadata.name and metadata.namespace.
	attributes func(runtime.Object) (labels.Set, fields.Set, error)

	// plainFields is resource.TypedCodec.PlainFields, of all versions.
	plainFields []string

	claims *resource.Allocator // of objects; nil: none
	// mayWrite is resource.Version.MayWrite.
	mayWrite func(ctx context.Context, obj, current runtime.Object) error

	// deleteWarning is Deletion.Warning of resource.Version.
	deleteWarning string
	// deleteForbids is Deletion.Forbids of resource.Version.
	deleteForbids func(name string) error
	// deletesReadable is Deletion.OnlyReadable of resource.Version. Upstream wraps the storages of such
	// kinds, and the wrapper hides the code that deletes unreadable objects.
	deletesReadable bool

	table registryrest.TableConvertor // nil: upstream's printer
	// printedAsList is true if an object's row depends on the other objects in the list.
	printedAsList bool
	// annotations is FieldAnnotations of resource.Exceptions, for all versions.
	annotations []string

	content *resource.ContentFirst
	answer  resource.Review // for a kind that is not stored
	action  *action         // runs on a create of a kind that is not stored

	// computed holds the objects of a kind that is never stored. It is nil for a stored kind.
	computed []runtime.Object
}

// subresource is a subresource of a kind.
type subresource struct {
	kind  schema.GroupVersionKind // of requests and responses; empty: the kind of the object
	verbs []string                // nil: get, patch, update

	strategy   registryrest.RESTUpdateStrategy
	scale      *scaled     // the object is shown as a Scale
	action     *action     // of a create
	connection *connection // nil: not a connection
	noTable    bool        // Subresource.NoTable
	resetsNone bool        // upstream's field management includes fields that the strategy ignores
	creates    bool        // Subresource.AppliedCreates
}

var (
	allVerbs     = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	changeVerbs  = []string{"get", "patch", "update"}
	createVerb   = []string{"create"}
	connectVerbs = []string{"create", "get"}
	proxyVerbs   = []string{"create", "delete", "get", "patch", "update"}
)

// status returns the subresources of a kind that has only the subresource status.
func status(strategy registryrest.RESTUpdateStrategy) map[string]subresource {
	return map[string]subresource{"status": {strategy: strategy}}
}

// withoutTable is status for a subresource without Tables.
func withoutTable(strategy registryrest.RESTUpdateStrategy) map[string]subresource {
	return map[string]subresource{"status": {strategy: strategy, noTable: true}}
}

// typesOf returns the scheme of a group.
func (g *group) typesOf() *runtime.Scheme {
	if g.scheme != nil {
		return g.scheme
	}
	return legacyscheme.Scheme
}

// served returns the served versions of a kind in the order of discovery.
func (k *kind) served(g *group, o Options) []string {
	if k.gate != "" && !utilfeature.DefaultFeatureGate.Enabled(k.gate) {
		return nil
	}
	versions := slices.Clone(k.versions)
	if o.LegacyAPIs {
		versions = append(versions, k.legacy...)
	}
	for _, v := range k.optional {
		if o.RuntimeConfig.serves(schema.GroupVersion{Group: g.name, Version: v}) && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	return slices.DeleteFunc(versions, func(v string) bool {
		gv := schema.GroupVersion{Group: g.name, Version: v}
		return o.RuntimeConfig.off[gv] || !k.isIn(g, v, release.Version()) || release.Lacks(gv, k.plural)
	})
}

// isIn reports whether a release of Kubernetes has a version of the kind.
func (k *kind) isIn(g *group, name string, in *version.Version) bool {
	obj, err := g.typesOf().New(schema.GroupVersionKind{Group: g.name, Version: name, Kind: k.kind})
	return err != nil || release.Has(in, obj)
}

// keyRoot is the prefix of all store keys.
const keyRoot = "/registry/"

// KeyPrefix returns the prefix of the store keys of a built-in resource, such as /registry/pods/.
func KeyPrefix(plural string) string { return keyRoot + plural + "/" }

// storage returns the group and version of the stored objects. Without the field stored, it is the first stable or beta
// version that the previous release also has, so that it could read the objects.
func (k *kind) storage(g *group) schema.GroupVersion {
	gv := schema.GroupVersion{Group: g.name, Version: k.stored}
	if k.stored == "" {
		versions := slices.Concat(k.versions, k.optional)
		gv.Version = versions[0]
		if i := slices.IndexFunc(versions, func(v string) bool {
			return !strings.Contains(v, "alpha") && k.isIn(g, v, release.MinCompatibility())
		}); i >= 0 {
			gv.Version = versions[i]
		}
	}
	if k.storedIn != nil {
		gv.Group = *k.storedIn
	}
	return gv
}

// resource returns the resource of the kind; nil if no version is served.
func (k *kind) resource(g *group, o Options) *resource.Resource {
	names := k.served(g, o)
	if len(names) == 0 {
		return nil
	}
	r := &resource.Resource{
		Group: g.name,
		Names: resource.Names{
			Plural: k.plural, Singular: k.singular, ShortNames: k.short, Categories: k.categories, Kind: k.kind, ListKind: k.kind + "List",
		},
		Namespaced:        !k.clusterScoped,
		NamespaceOfItself: k.ofItself,
		Uncached:          k.uncached,
		Verbs:             k.verbs,
		BriefKinds:        true,

		ConfiguresAdmission: g == &admissionKinds,
		InTreeAdmission:     g.scheme == nil,
	}
	if r.Verbs == nil {
		r.Verbs = allVerbs
	}
	if k.strategy != nil {
		r.Prefix = KeyPrefix(k.plural)
		r.StoredUnder = cmp.Or(k.storedUnder, k.plural)
	}
	stored := k.storage(g)
	for _, name := range names {
		r.Versions = append(r.Versions, k.version(g, r, name))
	}
	if stored.Group == g.name {
		if r.Storage = r.Version(stored.Version); r.Storage == nil {
			r.Storage = k.version(g, r, stored.Version)
			r.Storage.Served = false
			r.Versions = append(r.Versions, r.Storage)
		}
	}
	return r
}

// version returns a version of the kind.
func (k *kind) version(g *group, r *resource.Resource, name string) *resource.Version {
	gvk := schema.GroupVersionKind{Group: g.name, Version: name, Kind: k.kind}
	scheme := g.typesOf()
	codec := resource.NewTypedCodec(scheme, gvk, internalIn(g.name), k.storage(g).Group, k.attributes)
	codec.InProtobuf, codec.PlainFields = g.scheme == nil, k.plainFields
	v := &resource.Version{
		Resource: r, Name: name, Served: true, Priority: priorityOf(gvk.GroupVersion()), Typed: true, Identity: gvk.GroupVersion().String(),
		Exceptions:   resource.Exceptions{FieldAnnotations: k.annotations},
		Codec:        codec,
		CheckBody:    codec.CheckBody,
		Serializer:   codec.Serializer(),
		Strategy:     k.strategy,
		Informed:     informed(scheme, k.strategy),
		ContentFirst: k.content,
		Deletion:     k.deletion(name),
		Allocator:    k.claims,
		MayWrite:     k.mayWrite,
		Unstored:     resource.Unstored{Review: k.answer},
		Types:        k.types(g).Converter,
		FieldManager: k.fields(g, name, "", k.strategy),
	}
	v.Warnings, v.RemovedRelease = deprecation(scheme, gvk)
	v.OpenAPI = &resource.OpenAPI{Server: g.openAPIServer(), Schemas: sync.OnceValues(func() (map[string]*spec.Schema, error) {
		return resource.Reachable(scheme, definitionsV3(), []schema.GroupVersionKind{gvk})
	})}
	_, nullRows := k.table.(plainTable)
	v.Tables = resource.Tables{Convertor: k.table, NullRows: nullRows}
	if k.strategy != nil {
		v.Patches = codec.Patches()
		if k.table == nil {
			v.Tables.Convertor = printed{}
		}
		if k.printedAsList {
			v.Tables.OfList = printedLists(scheme, internalIn(g.name).WithKind(r.Names.ListKind))
		}
	}
	for _, obj := range k.computed {
		v.Unstored.Computed = append(v.Unstored.Computed, computedRecord(v, obj))
	}
	if k.action != nil {
		v.Unstored.Action = k.action.actionOf(v, gvk, "")
	}
	for name, s := range k.subresources {
		if release.Lacks(gvk.GroupVersion(), k.plural+"/"+name) {
			continue
		}
		if v.Subresource == nil {
			v.Subresource = map[string]*resource.Subresource{}
		}
		v.Subresource[name] = s.subresourceOf(g, k, v, name)
	}
	return v
}

// deletion returns the Deletion of a version. Part of it follows from the methods of upstream's strategy.
func (k *kind) deletion(version string) resource.Deletion {
	d := resource.Deletion{
		Warning: k.deleteWarning, Forbids: k.deleteForbids, OnlyReadable: k.deletesReadable,
		AnswersObject: k.answersDeleted || slices.Contains(k.answersDeletedIn, version),
	}
	if s, ok := k.strategy.(registryrest.GarbageCollectionDeleteStrategy); ok {
		d.Dependents = s.DefaultGarbageCollectionPolicy
	}
	if s, ok := k.strategy.(registryrest.RESTGracefulDeleteStrategy); ok {
		d.Graceful = s.CheckGracefulDelete
	}
	return d
}

// internalIn returns the internal version of a group, which strategies use.
func internalIn(group string) schema.GroupVersion {
	return schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal}
}

// subresourceOf returns the subresource of a version.
func (s subresource) subresourceOf(g *group, k *kind, v *resource.Version, name string) *resource.Subresource {
	out := &resource.Subresource{Verbs: s.verbs, Kind: s.kind, Strategy: s.strategy, NoTable: s.noTable, AppliedCreates: s.creates}
	if out.Verbs == nil {
		out.Verbs = changeVerbs
	}
	switch {
	case s.action != nil:
		out.Action = s.action.actionOf(v, s.kind, name)
	case s.connection != nil:
		out.Connection = s.connection.connectionOf(v, s.kind)
	case s.scale != nil:
		out.Strategy = k.strategy
		out.Projection = s.scale.projection(v)
		out.FieldManager = scaleFields()
	case s.strategy != nil:
		out.FieldManager = k.fields(g, v.Name, name, s.resets())
		out.Informed = informedOfSubresource(g.typesOf(), s.strategy)
	}
	return out
}

// resets returns the strategy with the fields that it ignores, for field management; nil: none.
func (s subresource) resets() any {
	if s.resetsNone {
		return nil
	}
	return s.strategy
}

// ownRelease is the Kubernetes release whose deprecations the server warns about. It is that of the libraries even if an
// older release is emulated.
var ownRelease = version.MustParse(release.Info().GitVersion)

// deprecation returns the warnings for responses in a deprecated or removed version, and the release that removes the
// version.
func deprecation(scheme *runtime.Scheme, kind schema.GroupVersionKind) (warnings []string, removedRelease string) {
	obj, err := scheme.New(kind)
	if err != nil {
		return nil, ""
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	if !deprecated.IsDeprecated(obj, int(ownRelease.Major()), int(ownRelease.Minor())) {
		return nil, ""
	}
	return []string{deprecated.WarningMessage(obj)}, deprecated.RemovedRelease(obj)
}
