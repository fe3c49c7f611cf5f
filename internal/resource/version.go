package resource

import (
	"context"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/store"
)

// Version is a resource seen in one API version.
type Version struct {
	Resource *Resource
	Name     string
	Served   bool

	// Warnings come with every answer of this version: its deprecation.
	Warnings []string

	// Identity changes when objects that were stored may read differently now:
	// it is the record tag of objects that need no more than their bytes copied.
	// That of a custom resource begins with the name and a slash.
	Identity string

	Codec       Codec
	Strategy    Strategy
	Serializer  runtime.NegotiatedSerializer
	Table       registryrest.TableConvertor
	Subresource map[string]*Subresource

	FieldManager FieldManager
	// Types are what the field manager knows of the types of the kind, for others who
	// merge objects; nil: nobody does.
	Types func() (managedfields.TypeConverter, error)

	// Typed objects are encoded from Go types: kind comes first, and the items
	// of a list leave out kind and apiVersion. Others are encoded from maps.
	Typed bool

	// Review answers a create in place of storing the object; nil: it is stored.
	Review Review

	// OpenAPI is what is published of the version; nil: nothing.
	OpenAPI *OpenAPI
}

// Review completes an object that asks a question with the answer.
type Review func(ctx context.Context, obj runtime.Object)

// Subresource is a part of an object with an endpoint of its own.
type Subresource struct {
	Strategy     registryrest.RESTUpdateStrategy
	Verbs        []string
	FieldManager FieldManager

	// Projection shows the object as another kind; nil: it is shown as itself.
	Projection Projection
}

// Projection shows an object as another kind, and changes it through that.
type Projection interface {
	// View is the kind that the object is shown as. It has no strategy.
	View() *Version
	// Of is what the object is shown as.
	Of(obj runtime.Object) (runtime.Object, error)
	// Before is what a change starts from, with its managedFields.
	Before(obj runtime.Object) (runtime.Object, error)
	// Into is a copy of the object with the change written into it.
	Into(obj, projected runtime.Object) (runtime.Object, error)
}

// Codec turns the bytes of one version into objects and back. The objects are
// what the Strategy works on: unstructured for custom resources, Go types of
// the internal version for kinds that have one.
//
// It is safe for concurrent use.
type Codec interface {
	// New is an empty object to decode into.
	New() runtime.Object

	// Decode reads a request body with the given serializer, prunes and defaults
	// it. What only a strict reader objects to (unknown and duplicate fields)
	// comes as a strict decoding error beside the object.
	Decode(body []byte, serializer runtime.Serializer) (runtime.Object, *schema.GroupVersionKind, error)

	// DecodeStored reads an object of the store, in whichever version it was
	// written, as this version sees it. Its resourceVersion is set. Others may
	// be given the same object: it must not be altered.
	DecodeStored(record store.Record) (runtime.Object, error)

	// DecodeAllStored reads several, in one conversion if they need any.
	DecodeAllStored(records []store.Record) ([]runtime.Object, error)

	// Encode writes the object as JSON in this version, without a line break at
	// the end.
	Encode(obj runtime.Object) ([]byte, error)

	// EncodeToStore is Encode for the store. It fills in what reading the object
	// back would, so that the bytes are what readers see.
	EncodeToStore(obj runtime.Object) ([]byte, error)

	// Objects makes and converts objects of the kind in all its versions.
	Objects() Objects

	// Fields are the field selectors' values of an object.
	Fields(obj runtime.Object) (fields.Set, error)

	// ConvertFieldLabel checks and translates one requirement of a field
	// selector.
	ConvertFieldLabel(label, value string) (string, string, error)
}

// Viewer is a Codec that can show stored objects in its version without decoding
// them.
type Viewer interface {
	// View is what Encode makes of what DecodeStored reads. If that cannot be told
	// without doing so, it says so.
	View(record store.Record) (text string, ok bool)
}

// CellReader is a TableConvertor that can read the cells of an object out of the JSON
// of its version.
type CellReader interface {
	// ReadCells are the cells of the one row that ConvertToTable makes of the
	// object. If they cannot be told without decoding all of it, it says so.
	ReadCells(ctx context.Context, text string) (cells []any, ok bool, err error)
}

// Rememberer is a Codec that can be told what an object is that it would
// otherwise have to read. The object's resourceVersion must be that of the record,
// and nobody may alter the object any more.
type Rememberer interface {
	Remember(record store.Record, obj runtime.Object)
}

// Copier is a Codec whose objects have parts that nobody alters.
type Copier interface {
	// Copy is a copy that may be altered but for those parts.
	Copy(obj runtime.Object) runtime.Object
}

// Strategy is what a kind adds to the one write pipeline: how its objects are
// prepared and validated.
type Strategy interface {
	registryrest.RESTCreateStrategy
	registryrest.RESTUpdateStrategy
}

// MetadataStrategy is a strategy that can tell cheaply of most metadata that it
// is valid, so that it need not be validated. The old object is nil for a create.
type MetadataStrategy interface {
	MetadataIsValid(obj, old runtime.Object) bool
}

// DeletionStrategy is a Strategy whose objects have work to do between the
// first delete and the end: their content goes first.
//
// One that is a rest.GarbageCollectionDeleteStrategy, too, says with the first
// delete what is to become of dependents.
type DeletionStrategy interface {
	Strategy

	// BeginDeletion records on obj that its deletion has begun.
	BeginDeletion(obj runtime.Object, now metav1.Time)

	// ContentRemains tells whether something beside metadata.finalizers keeps
	// an object that is being deleted.
	ContentRemains(obj runtime.Object) bool
}

// GroupVersion names the version with its group.
func (v *Version) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: v.Resource.Group, Version: v.Name}
}

// Wrote tells whether a custom object was written in this version, be it under an
// earlier schema.
func (v *Version) Wrote(record store.Record) bool {
	return strings.HasPrefix(record.Tag, v.Name+"/")
}

// Kind names the kind of the objects in this version.
func (v *Version) Kind() schema.GroupVersionKind {
	return v.GroupVersion().WithKind(v.Resource.Names.Kind)
}

// GroupVersionResource names the resource in this version.
func (v *Version) GroupVersionResource() schema.GroupVersionResource {
	return v.GroupVersion().WithResource(v.Resource.Names.Plural)
}

// AllowsMediaTypeTransform implements negotiation.EndpointRestrictions: what
// this version can be served as.
func (v *Version) AllowsMediaTypeTransform(mimeType, mimeSubType string, target *schema.GroupVersionKind) bool {
	if target == nil {
		// Protobuf is there for Tables and partial metadata alone where objects
		// are maps.
		return v.Typed || mimeSubType != "vnd.kubernetes.protobuf"
	}
	if target.Group != metav1.GroupName || (target.Version != "v1" && target.Version != "v1beta1") {
		return false
	}
	switch target.Kind {
	case "Table":
		return v.Table != nil && mimeType == "application" && (mimeSubType == "json" || mimeSubType == "yaml")
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	}
	return false
}

// AllowsServerVersion implements negotiation.EndpointRestrictions.
func (v *Version) AllowsServerVersion(version string) bool {
	return version == metav1.SchemeGroupVersion.Version
}

// AllowsStreamSchema implements negotiation.EndpointRestrictions.
func (v *Version) AllowsStreamSchema(schema string) bool { return schema == "watch" }

// SubresourceNames are the names of the subresources in the order of discovery:
// those that show the object as it is, by name, then those that do not.
func (v *Version) SubresourceNames() []string {
	return slices.SortedFunc(maps.Keys(v.Subresource), func(a, b string) int {
		if p, q := v.Subresource[a].Projection != nil, v.Subresource[b].Projection != nil; p != q {
			if p {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
}
