package crd

import (
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	"github.com/tidwall/gjson"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Verbs are the verbs of custom resources, in the order of discovery.
var Verbs = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}

// Priority is the priority of all custom resources.
var Priority = resource.Priority{Group: 1000, Version: 100}

// terminatingVerbs are the verbs while the definition is being deleted.
var terminatingVerbs = []string{"delete", "deletecollection", "get", "list", "watch"}

// Compile returns the registry's entry for a definition, which was decoded from the record. outside is for calls of its
// conversion webhook.
func Compile(record store.Record, crd *apiextensions.CustomResourceDefinition, outside Outside) (*resource.Definition, error) {
	d := &resource.Definition{
		Record:      store.Precondition{Key: record.Key, Revision: record.Revision},
		Name:        crd.Name,
		Group:       crd.Spec.Group,
		Accepted:    acceptedNames(crd),
		Terminating: crd.DeletionTimestamp != nil,
		Contested:   !apiextensions.IsCRDConditionTrue(crd, apiextensions.NamesAccepted),
	}
	for _, v := range crd.Spec.Versions {
		d.Versions = append(d.Versions, v.Name)
		if v.Served {
			d.Serves = append(d.Serves, v.Name)
		}
	}
	if d.Contested && !apiextensions.IsCRDConditionTrue(crd, apiextensions.Established) {
		return d, nil
	}
	var err error
	d.Resource, err = compileResource(record, crd, outside)
	return d, err
}

func acceptedNames(crd *apiextensions.CustomResourceDefinition) resource.Names {
	n := crd.Status.AcceptedNames
	return resource.Names{
		Plural: n.Plural, Singular: n.Singular, ShortNames: n.ShortNames,
		Kind: n.Kind, ListKind: n.ListKind, Categories: n.Categories,
	}
}

func compileResource(record store.Record, crd *apiextensions.CustomResourceDefinition, outside Outside) (*resource.Resource, error) {
	r := &resource.Resource{
		Group:       crd.Spec.Group,
		Names:       acceptedNames(crd),
		Namespaced:  crd.Spec.Scope == apiextensions.NamespaceScoped,
		Verbs:       Verbs,
		Routing:     resource.OneHandler,
		Prefix:      fmt.Sprintf("/registry/%s/%s/", crd.Spec.Group, crd.Spec.Names.Plural),
		StoredUnder: crd.Spec.Group + "/" + crd.Spec.Names.Plural,
		Definition:  store.Precondition{Key: record.Key, Revision: record.Revision},
		Unlisted:    !apiextensions.IsCRDConditionTrue(crd, apiextensions.Established),
		Terminating: crd.DeletionTimestamp != nil || apiextensions.IsCRDConditionTrue(crd, apiextensions.Terminating),
	}
	if apiextensions.IsCRDConditionTrue(crd, apiextensions.Terminating) {
		r.Verbs = terminatingVerbs
	}

	preserve := crd.Spec.PreserveUnknownFields != nil && *crd.Spec.PreserveUnknownFields
	common := shared{
		outside:    outside,
		schemas:    make(map[string]*compiledSchema, len(crd.Spec.Versions)),
		identities: make(map[string]string, len(crd.Spec.Versions)),
		preserve:   preserve,
		definition: record.Value,
		types:      sync.OnceValues(func() (managedfields.TypeConverter, error) { return typeConverter(record.Value) }),
	}
	ids := schemaIDs(record.Value)
	for _, v := range crd.Spec.Versions {
		validation, err := apiextensions.GetSchemaForVersion(crd, v.Name)
		if err != nil {
			return nil, err
		}
		var props *apiextensions.JSONSchemaProps
		if validation != nil {
			props = validation.OpenAPIV3Schema
		}
		id := ids[v.Name]
		if common.schemas[v.Name], err = cachedSchema(id, props, preserve); err != nil {
			return nil, fmt.Errorf("version %s: %w", v.Name, err)
		}
		common.identities[v.Name] = v.Name + "/" + hex.EncodeToString(id[:16])
	}

	if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensions.WebhookConverter {
		common.webhook = newConversionWebhook(record.Value, r.GroupResource(), outside)
		r.ConvertedByWebhook, r.Unusable = true, !hasValidBundle(c)
	}
	for _, v := range crd.Spec.Versions {
		compiledVersion, err := compileVersion(r, crd, v, common)
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", v.Name, err)
		}
		r.Versions = append(r.Versions, compiledVersion)
		if v.Storage {
			r.Storage = compiledVersion
		}
	}
	if r.Storage == nil {
		return nil, fmt.Errorf("no storage version")
	}
	r.HidesStorageVersion = !r.Storage.Served
	slices.SortStableFunc(r.Versions, func(a, b *resource.Version) int {
		return version.CompareKubeAwareVersionStrings(b.Name, a.Name)
	})
	return r, nil
}

// resetByVersion returns the given names, by apiVersion, for each version with a status subresource. They are the fields
// that an endpoint ignores.
func resetByVersion(crd *apiextensions.CustomResourceDefinition, names ...string) map[string][]string {
	reset := map[string][]string{}
	for _, v := range crd.Spec.Versions {
		if s, err := apiextensions.GetSubresourcesForVersion(crd, v.Name); err == nil && s != nil && s.Status != nil {
			reset[crd.Spec.Group+"/"+v.Name] = names
		}
	}
	return reset
}

// specOf returns the JSON of the spec of a stored definition.
func specOf(definition string) string { return gjson.Get(definition, "spec").Raw }

// shared has what all versions of a definition share.
type shared struct {
	schemas    map[string]*compiledSchema // by version
	identities map[string]string          // by version
	preserve   bool                       // spec.preserveUnknownFields
	definition string                     // its JSON
	types      func() (managedfields.TypeConverter, error)
	outside    Outside
	webhook    *conversionWebhook // converts objects; nil: there is none
}

func compileVersion(r *resource.Resource, crd *apiextensions.CustomResourceDefinition, v apiextensions.CustomResourceDefinitionVersion, common shared) (*resource.Version, error) {
	kind := schema.GroupVersionKind{Group: r.Group, Version: v.Name, Kind: r.Names.Kind}
	subresources, err := apiextensions.GetSubresourcesForVersion(crd, v.Name)
	if err != nil {
		return nil, err
	}
	columns, err := apiextensions.GetColumnsForVersion(crd, v.Name)
	if err != nil {
		return nil, err
	}
	selectable, err := newSelectableFields(selectableFieldsOf(crd, v))
	if err != nil {
		return nil, err
	}
	table, err := newTable(columns)
	if err != nil {
		return nil, err
	}
	strategy := customStrategy{
		ObjectTyper: crdserverscheme.NewUnstructuredObjectTyper(), NameGenerator: names.SimpleNameGenerator,
		kind: kind, namespaced: r.Namespaced, schema: common.schemas[v.Name],
	}
	c := &codec{
		kind: kind, namespaced: r.Namespaced, preserve: common.preserve, schemas: common.schemas, identities: common.identities, selectable: selectable,
		webhook: common.webhook,
	}
	if common.webhook != nil {
		c.conversions = resource.NewConversions(crd.Generation, r.Definition.Revision, common.outside.formerly(r, v.Name))
	}
	out := &resource.Version{
		Resource: r, Name: v.Name, Served: v.Served, Priority: Priority, Identity: common.identities[v.Name],
		Codec:       c,
		Conversions: c.conversions,
		Patches:     resource.Patches{Merge: c.MergePatch},
		Serializer:  serializer{},
		Tables:      resource.Tables{Convertor: table, ReadCells: table.ReadCells},
		OpenAPI:     publish(common.definition, v.Name),
		Types:       common.types,
		Subresource: map[string]*resource.Subresource{},
		Exceptions: resource.Exceptions{
			MayHaveItems: common.preserve || common.schemas[v.Name].mayHave("items"), Uncompiled: common.schemas[v.Name].uncompiled,
		},
	}
	if v.Deprecated {
		out.Warnings = []string{deprecationWarning(crd, v)}
	}
	if subresources != nil {
		strategy.hasStatus = subresources.Status != nil
		strategy.scale = subresources.Scale
		if strategy.hasStatus {
			status := customStatus{strategy}
			out.Subresource["status"] = &resource.Subresource{
				Strategy: status, Informed: status.inform, Verbs: []string{"get", "patch", "update"},
				FieldManager: newCustomFields(common.types, c, "status", resetByVersion(crd, "metadata", "spec")),
			}
		}
	}
	out.Explain = strategy.explain
	out.Strategy, out.Informed, out.MetadataIsValid = strategy, strategy.inform, strategy.MetadataIsValid
	if strategy.scale != nil {
		view, err := newScaleView(r)
		if err != nil {
			return nil, err
		}
		out.Subresource["scale"] = &resource.Subresource{
			Strategy: strategy, Verbs: []string{"get", "patch", "update"},
			Informed:     func(informed resource.Informed) registryrest.RESTUpdateStrategy { return strategy.inform(informed) },
			FieldManager: scaleFields(),
			Projection:   &scale{view: view, kind: kind, paths: strategy.scale, owners: replicaPaths(crd)},
		}
	}
	reset := map[string][]string{}
	if strategy.hasStatus {
		reset[kind.GroupVersion().String()] = []string{"status"}
	}
	out.FieldManager = newCustomFields(common.types, c, "", reset)
	return out, nil
}

// selectableFieldsOf returns the selectable fields of a version; those of the whole definition if the version has none.
func selectableFieldsOf(crd *apiextensions.CustomResourceDefinition, v apiextensions.CustomResourceDefinitionVersion) []apiextensions.SelectableField {
	if len(v.SelectableFields) > 0 {
		return v.SelectableFields
	}
	return crd.Spec.SelectableFields
}

// ageDescription is the API's own documentation of creationTimestamp.
var ageDescription = metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]

// newTable returns the printer of a version. Without columns it prints the age.
func newTable(columns []apiextensions.CustomResourceColumnDefinition) (table, error) {
	if len(columns) == 0 {
		columns = []apiextensions.CustomResourceColumnDefinition{
			{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp", Description: ageDescription},
		}
	}
	external := make([]apiextensionsv1.CustomResourceColumnDefinition, len(columns))
	for i := range columns {
		if err := apiextensionsv1.Convert_apiextensions_CustomResourceColumnDefinition_To_v1_CustomResourceColumnDefinition(&columns[i], &external[i], nil); err != nil {
			return table{}, err
		}
	}
	return newTableOf(external), nil
}

// deprecationWarning returns the warning in the definition, or the default one, which names the newest version to use
// instead.
func deprecationWarning(crd *apiextensions.CustomResourceDefinition, v apiextensions.CustomResourceDefinitionVersion) string {
	if v.DeprecationWarning != nil {
		return *v.DeprecationWarning
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", crd.Spec.Group, v.Name, crd.Spec.Names.Kind)
	best := ""
	for _, other := range crd.Spec.Versions {
		newer := version.CompareKubeAwareVersionStrings(v.Name, other.Name) < 0
		if other.Served && !other.Deprecated && newer &&
			(best == "" || version.CompareKubeAwareVersionStrings(best, other.Name) < 0) {
			best = other.Name
		}
	}
	if best != "" {
		text += fmt.Sprintf("; use %s/%s %s", crd.Spec.Group, best, crd.Spec.Names.Kind)
	}
	return text
}

// typer returns the kind in unstructured objects. It fails for an object without one.
type typer struct{}

func (typer) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	kind := obj.GetObjectKind().GroupVersionKind()
	switch {
	case kind.Kind == "":
		return nil, false, runtime.NewMissingKindErr("object has no kind field ")
	case kind.Version == "":
		return nil, false, runtime.NewMissingVersionErr("object has no apiVersion field")
	}
	return []schema.GroupVersionKind{kind}, false, nil
}

func (typer) Recognizes(schema.GroupVersionKind) bool { return true }

// creater creates unstructured objects.
type creater struct{}

func (creater) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}
