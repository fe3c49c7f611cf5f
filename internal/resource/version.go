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

	objectschema "github.com/fakecluster/fakecluster/internal/schema"
	"github.com/fakecluster/fakecluster/store"
)

// Version is a resource seen in one API version.
type Version struct {
	Resource *Resource
	Name     string
	Served   bool
	// Priority is the place of the version in discovery.
	Priority Priority

	// Warnings come with every answer of this version: its deprecation.
	Warnings []string
	// RemovedRelease is the Kubernetes release, such as 1.22, that does not serve the
	// version any more; empty: there is none yet.
	RemovedRelease string

	// Identity changes when objects that were stored may read differently now:
	// it is the record tag of objects that need no more than their bytes copied.
	// That of a custom resource begins with the name and a slash.
	Identity string

	Codec       Codec
	Strategy    Strategy
	Informed    func(Informed) Strategy // see Informed; nil: Strategy is told nothing
	Serializer  runtime.NegotiatedSerializer
	Subresource map[string]*Subresource

	Table registryrest.TableConvertor
	// TableOfList is the Table of several objects, with one row for each, of a kind of which a
	// row depends on the others: in a list of StorageClasses one is the default. Nil: the rows
	// are those that Table makes of the objects, one by one.
	TableOfList func(ctx context.Context, objects []runtime.Object, options *metav1.TableOptions) (*metav1.Table, error)
	// ReadCells are the cells of the one row that Table makes of an object, read out of
	// the object's JSON in this version. If they cannot be told without decoding all of
	// it, ok is false. Nil: they never can.
	ReadCells func(ctx context.Context, text string) (cells []any, ok bool, err error)

	Patches Patches

	// MetadataIsValid tells of most metadata, cheaply, that it is valid, so that the
	// pipeline need not validate it. The old object is nil for a create. Nil: it always
	// has to.
	MetadataIsValid func(obj, old runtime.Object) bool

	// ContentFirst says that objects have content that goes before them; nil: they
	// have none.
	ContentFirst *ContentFirst

	// Deletion says what the kind does of its own when an object is deleted.
	Deletion Deletion

	// Claims are what the objects take of the cluster; nil: nothing.
	Claims *Claims

	// MayWrite refuses an object by which the user in the context would grant more than that
	// user may, after the object is as the write wants it. The current object is nil for a
	// create. Nil: every user who may send the request may write every object.
	MayWrite func(ctx context.Context, obj, current runtime.Object) error

	// FieldManager knows who owns which field of an object.
	FieldManager Fields
	// Types are the field manager's types of the kind, for admission policies that merge
	// objects of it; nil: policies cannot merge them.
	Types func() (managedfields.TypeConverter, error)

	// Typed objects are encoded from Go types: kind comes first, and the items
	// of a list leave out kind and apiVersion. Others are encoded from maps.
	Typed bool

	// Review answers a create in place of storing the object, and Action carries out what is
	// sent; nil: the object is stored.
	Review Review
	Action *Action

	// Missing says what this server lacks that would answer for the kind, as the end of
	// a sentence: "no kubelet runs in it". Empty: it lacks nothing.
	Missing string

	// OpenAPI is what is published of the version; nil: nothing.
	OpenAPI *OpenAPI
}

// Priority is the place of a version in discovery. Groups with a higher number come first, and
// versions with a higher number come first in their group; those with the same number are in
// the order of their names, v2 before v1 before v1beta1. The number of a group is the highest
// that one of its versions gives it.
type Priority struct{ Group, Version int }

// Review answers an object that asks a question with one that has the answer.
type Review func(ctx context.Context, obj runtime.Object) (runtime.Object, error)

// Subresource is a part of an object with an endpoint of its own.
type Subresource struct {
	Strategy registryrest.RESTUpdateStrategy
	Verbs    []string
	// Informed is as that of Version.
	Informed func(Informed) registryrest.RESTUpdateStrategy
	// FieldManager is that of requests to the subresource.
	FieldManager Fields

	// Kind is what discovery says that it speaks; empty: the kind of the object, or that
	// of the projection.
	Kind schema.GroupVersionKind

	// Projection shows the object as another kind; nil: it is shown as itself.
	Projection Projection

	// Action carries out what is created at the subresource; nil: nothing is.
	Action *Action
	// Connection is what the subresource connects with; nil: with nothing.
	Connection *Connection

	// Missing is as that of Version.
	Missing string
}

// KindOf is the kind that a subresource of the version speaks.
func (v *Version) KindOf(s *Subresource) schema.GroupVersionKind {
	switch {
	case s.Projection != nil:
		return s.Projection.View().Kind()
	case !s.Kind.Empty():
		return s.Kind
	}
	return v.Kind()
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
	Decode(body []byte, serializer runtime.Serializer) (Decoded, *schema.GroupVersionKind, error)

	// DecodeStored reads an object of the store, in whichever version it was
	// written, as this version sees it. Its resourceVersion is set. Others may
	// be given the same object: it must not be altered. If the conversion fails, the error is
	// a CorruptError.
	DecodeStored(record store.Record) (runtime.Object, error)

	// DecodeAllStored reads several, in one conversion if they need any.
	DecodeAllStored(records []store.Record) ([]runtime.Object, error)

	// Encode writes the object as JSON in this version, without a line break at
	// the end.
	Encode(obj runtime.Object) ([]byte, error)

	// EncodeToStore is Encode for the store. It fills in what reading the object
	// back would, so that the bytes are what readers see. Stored is what DecodeStored would
	// read of them, the resourceVersion aside: the object itself or a copy. Without an
	// object it takes reading the bytes to know.
	EncodeToStore(obj Decoded) (text []byte, stored Decoded, err error)

	// View is what Encode makes of what DecodeStored reads. If that cannot be told
	// without doing so, ok is false.
	View(record store.Record) (text string, ok bool)

	// Copy is a copy of an object that may be altered and put through the pipeline. It
	// may share with the object what no stage alters.
	Copy(obj runtime.Object) runtime.Object

	// Prune drops what the schema does not know from an object which somebody has
	// changed since it was decoded.
	Prune(obj runtime.Object) error

	// Objects makes and converts objects of the kind in all its versions.
	Objects() Objects

	// Fields are the field selectors' values of an object.
	Fields(obj runtime.Object) (fields.Set, error)

	// ReadField is the value that Fields has for the field, read out of the bytes of an
	// object that is stored in this version, under its present schema. If it cannot be
	// told without decoding the object, ok is false.
	ReadField(text, field string) (value string, ok bool)

	// ConvertFieldLabel checks and translates one requirement of a field
	// selector.
	ConvertFieldLabel(label, value string) (string, string, error)
}

// Strategy is what a kind adds to the one write pipeline: how its objects are
// prepared and validated.
type Strategy interface {
	registryrest.RESTCreateStrategy
	registryrest.RESTUpdateStrategy
}

// Informed is what a strategy is told of the objects of one write, beside the objects. The
// strategy notes in Known what it does to the object, and what it finds out.
type Informed struct {
	// Known is what is known of the object.
	Known *objectschema.Parts
	// Was is what is known of the current object; nothing for a create.
	Was objectschema.Parts
	// ValidMetadata says that the object's metadata is what MetadataIsValid accepts.
	ValidMetadata bool
}

// ContentFirst is for kinds whose objects have content that must go before the object
// itself: namespaces and definitions. A delete of such an object only begins its deletion.
type ContentFirst struct {
	// Begin records on obj that its deletion has begun.
	Begin func(obj runtime.Object, now metav1.Time)

	// Remains tells whether something beside metadata.finalizers keeps an object that
	// is being deleted.
	Remains func(obj runtime.Object) bool

	// SettlesDependents says that the first delete decides what becomes of dependents:
	// the finalizers of foreground and orphan deletion are set then.
	SettlesDependents bool
}

// Deletion says how the objects of a kind are deleted. Its zero value is that of most kinds:
// at once, and their dependents after them.
type Deletion struct {
	// Dependents says what becomes of an object's dependents if neither the request nor the
	// object says it. Nil: they are deleted.
	Dependents func(ctx context.Context) registryrest.GarbageCollectionPolicy

	// Forbids refuses to delete the object of a name, if a request names it; one that deletes
	// a collection it does not refuse. Nil: it refuses none.
	Forbids func(name string) error

	// Warning is what a client is told that asks for a deletion and leaves to the kind what
	// becomes of dependents. Empty: nothing.
	Warning string

	// Graceful tells whether an object is only marked, because somebody has to end it first
	// and deletes it then: a kubelet ends Pods. It sets the grace period in the options. Nil:
	// no object is.
	Graceful func(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool
}

// DeletionBy is what a strategy of upstream's says of deletion.
func DeletionBy(strategy any) Deletion {
	var d Deletion
	if s, ok := strategy.(registryrest.GarbageCollectionDeleteStrategy); ok {
		d.Dependents = s.DefaultGarbageCollectionPolicy
	}
	if s, ok := strategy.(registryrest.RESTGracefulDeleteStrategy); ok {
		d.Graceful = s.CheckGracefulDelete
	}
	return d
}

// Claims are what objects take of the cluster that it has only once, such as the IP addresses
// of Services. What an object has taken stands in the object, and is its own until it is
// deleted or says otherwise.
type Claims struct {
	// Take takes what a new object, or the new state of the current one, asks for, and writes
	// into it what it was given. It alters nothing but obj. A dry run takes nothing.
	//
	// The caller calls settle once: with true when the object has been stored as it is then,
	// so that what the current one had and it has not is free again; or with false, so that
	// all that was taken is free again. If Take fails, nothing has been taken.
	Take func(ctx context.Context, obj, current runtime.Object, dryRun bool) (settle func(committed bool), err error)

	// Release frees what an object has taken that has been deleted. It does not alter it.
	Release func(ctx context.Context, obj runtime.Object)
}

// Patches are the forms of a patch that a version takes beside JSON patch and
// server-side apply, or takes by a shorter way.
type Patches struct {
	// StrategicMerge applies a strategic merge patch to an object. If it is to
	// validate, unknown fields in the result come as a strict decoding error beside
	// it. Nil: the kind does not take such patches, because no Go type says how its
	// lists are merged.
	StrategicMerge func(current runtime.Object, patch map[string]any, validate bool) (runtime.Object, error)

	// Merge is the object with a merge patch merged into it, pruned and defaulted. It may
	// share with the object what no stage alters, and takes over the patch. If unknown
	// fields are to be reported, they come as a strict decoding error beside it. Nil: the
	// patch is merged into the JSON of the object.
	Merge func(current Decoded, patch map[string]any, reportUnknown bool) (Decoded, error)
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

// SubresourceNames are the names of the subresources in the order of discovery: by name
// for Go types; for others those that show the object as it is, then those that do not.
func (v *Version) SubresourceNames() []string {
	return slices.SortedFunc(maps.Keys(v.Subresource), func(a, b string) int {
		if p, q := v.Subresource[a].Projection != nil, v.Subresource[b].Projection != nil; p != q && !v.Typed {
			if p {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
}
