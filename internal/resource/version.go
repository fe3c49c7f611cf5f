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

	"github.com/fakecluster/fakecluster/inspect"
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

	// Identity is the tag of records whose bytes are what this version shows. It changes
	// when stored objects may read differently, for example because the schema has changed.
	// The Identity of a custom resource begins with the name of the version and a slash.
	Identity string

	Codec       Codec
	Strategy    Strategy
	Informed    func(Informed) Strategy // see Informed; nil: Strategy needs no facts
	Serializer  runtime.NegotiatedSerializer
	Subresource map[string]*Subresource

	// Conversions have the objects that a webhook has converted to the version; nil: no webhook converts.
	Conversions *Conversions

	// Tables says how the objects are shown as Tables.
	Tables Tables

	Patches Patches

	// MetadataIsValid is a fast check that the metadata is valid, so that the pipeline need
	// not validate it. It may return false for valid metadata, never true for invalid
	// metadata. The old object is nil for a create. Nil: the pipeline always validates.
	MetadataIsValid func(obj, old runtime.Object) bool

	// ContentFirst says that objects have content that must be deleted before them; nil:
	// they do not.
	ContentFirst *ContentFirst

	// Deletion says what is special about deleting an object of the kind.
	Deletion Deletion

	// Allocator allocates what the objects need of the cluster, such as IP addresses; nil: they
	// do not need anything.
	Allocator *Allocator

	// MayWrite rejects a write of an object, as it will be stored, that would grant more rights than the
	// user in the context has. The current object is nil for a
	// create. Nil: every user who may send the request may write every object.
	MayWrite func(ctx context.Context, obj, current runtime.Object) error

	// FieldManager records who owns which field of an object.
	FieldManager Fields
	// Types are the field manager's types of the kind, for admission policies that merge
	// objects of it; nil: policies cannot merge them.
	Types func() (managedfields.TypeConverter, error)

	// Typed objects are encoded from Go types: kind comes first, and the items
	// of a list leave out kind and apiVersion. Others are encoded from maps.
	Typed bool

	// CheckBody refuses a body before it is decoded, because upstream's code would compute for too long with it. The body is
	// protobuf if it is not text. Nil: no body does that.
	CheckBody func(body []byte, isText bool) error

	// Explain adds to the errors of a strategy why it accepts or rejects an object, if a client
	// requests an explanation. It may take long. Nil: it adds nothing.
	Explain func(ctx context.Context, j *Validated)

	// Unstored is for kinds whose objects are not stored. The zero value: they are stored.
	Unstored Unstored

	// Exceptions are what few kinds need.
	Exceptions Exceptions

	// OpenAPI is what OpenAPI publishes of the version; nil: nothing.
	OpenAPI *OpenAPI
}

// Priority is the place of a version in discovery. Groups with a higher number come first, and
// versions with a higher number come first in their group; those with the same number are in
// the order of their names, v2 before v1 before v1beta1. The number of a group is the highest
// that one of its versions gives it.
type Priority struct{ Group, Version int }

// Tables says how the objects of a version are shown as Tables, which kubectl get requests.
type Tables struct {
	// Convertor makes the columns, and the row of an object; nil: the objects are not shown as Tables.
	Convertor registryrest.TableConvertor
	// OfList makes the Table of several objects, for kinds whose rows depend on each other: in a list of
	// StorageClasses one is the default, and FlowSchemas are sorted. It makes a row for each object, which
	// contains the object. Nil: Convertor makes each row by itself.
	OfList func(ctx context.Context, objects []runtime.Object, options *metav1.TableOptions) (*metav1.Table, error)
	// ReadCells reads the cells of a row from the JSON of an object in this version. If that takes decoding
	// the object, ok is false. Nil: it always does.
	ReadCells func(ctx context.Context, text string) (cells []any, ok bool, err error)
	// NullRows says that a Table without objects has null for its rows, and not an empty list.
	NullRows bool
}

// Unstored is how a kind whose objects are not stored answers requests. At most one field is set.
type Unstored struct {
	// Review answers a create.
	Review Review
	// Action carries out an object that is created, such as a Binding.
	Action *Action
	// Computed are all objects of the kind, in the order of their names: JSON of this version, which never changes.
	Computed []store.Record
}

// Exceptions are what few kinds need. The zero value is for all others.
type Exceptions struct {
	// MayHaveItems says that a custom object may have a field items of its own. If that is a list, the object
	// cannot be answered (view.View.Object).
	MayHaveItems bool
	// Uncompiled reports whether a write may first have to compile rules for a long time; nil: no write has to.
	Uncompiled func() bool
	// FieldAnnotations are annotations that a HorizontalPodAutoscaler has in place of fields which this version
	// does not have. PartialObjectMetadata does not show them.
	FieldAnnotations []string
	// Undecodable is the error for each body, because a real server cannot decode any: it is a Scale of custom
	// objects.
	Undecodable string
}

// Review returns the object in the body, such as a SubjectAccessReview, with its status. It calls validate, which is
// validating admission, before it answers.
type Review func(ctx context.Context, obj runtime.Object, validate registryrest.ValidateObjectFunc) (runtime.Object, error)

// Subresource is a part of an object with its own endpoint.
type Subresource struct {
	Strategy registryrest.RESTUpdateStrategy
	Verbs    []string
	// Informed is like Version.Informed.
	Informed func(Informed) registryrest.RESTUpdateStrategy
	// FieldManager records who owns the fields that requests to the subresource set.
	FieldManager Fields

	// Kind is the kind that discovery shows for the subresource; empty: the kind of the
	// object, or that of the projection.
	Kind schema.GroupVersionKind

	// Projection shows the object as another kind; nil: it is shown as itself.
	Projection Projection

	// Action carries out an object that is sent to the subresource; nil: the subresource
	// takes none.
	Action *Action
	// Connection is what the subresource connects the client to; nil: nothing.
	Connection *Connection

	// NoTable says that the subresource is not shown as a Table.
	NoTable bool
	// AppliedCreates says that an apply to the subresource creates the object if there is none.
	AppliedCreates bool
}

// KindOf returns the kind of a subresource of the version.
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
	// View returns the version of the kind that the object is shown as. It does not have a strategy.
	View() *Version
	// Of returns what a get of the object shows. It may refuse an object that a change could start from.
	Of(obj runtime.Object) (runtime.Object, error)
	// Written returns what admission sees of a written object, and what the answer to the write shows.
	Written(obj runtime.Object) (runtime.Object, error)
	// Before returns what a change starts from, with its managedFields.
	Before(obj runtime.Object) (runtime.Object, error)
	// Into returns a copy of the object with the change written into it.
	Into(obj, projected runtime.Object) (runtime.Object, error)
}

// Codec turns the bytes of one version into objects and back. The objects are
// what the Strategy works on: unstructured for custom resources, Go types of
// the internal version for kinds that have one.
//
// It is safe for concurrent use.
type Codec interface {
	// New returns an empty object to decode into.
	New() runtime.Object

	// Decode reads a request body with the given serializer, and prunes and defaults the
	// object. Unknown and duplicate fields come as a strict decoding error beside the
	// object.
	Decode(body []byte, serializer runtime.Serializer) (Decoded, *schema.GroupVersionKind, error)

	// DecodePatched is Decode for the JSON that a patch has made of an object in this version. A
	// body without apiVersion and kind is of this version. A patched object without apiVersion
	// is not, as on a real server, which takes it for one of the internal version: the names of
	// its fields are those of the Go type, and "metadata" is unknown.
	DecodePatched(text []byte, serializer runtime.Serializer) (Decoded, error)

	// DecodeStored reads an object of the store, in whichever version it was
	// written, as this version sees it. Its resourceVersion is set. Others may
	// be given the same object: it must not be altered. If the conversion fails, the error is
	// a CorruptError.
	DecodeStored(record store.Record) (runtime.Object, error)

	// DecodeAllStored reads several, in one conversion if they need any.
	DecodeAllStored(records []store.Record) ([]runtime.Object, error)

	// DecodeShown reads what View or Encode has made of an object, in the form of DecodeStored. It adds no defaults:
	// an object that is stored in another version may lack those of this one.
	DecodeShown(text string) (runtime.Object, error)

	// DecodeAs reads the JSON of an object in this version as an object of this version.
	DecodeAs(text string) (runtime.Object, error)

	// Encode writes the object as JSON in this version, without a line break at
	// the end.
	Encode(obj runtime.Object) ([]byte, error)

	// EncodeToStore is Encode for the store. It also does what reading the object back does, so that the bytes
	// are what readers see: it fills in the defaults, and drops unknown fields.
	EncodeToStore(obj Decoded) (Encoded, error)

	// View returns what Encode would make of what DecodeStored reads, or has made of it before. If that takes
	// decoding the record, ok is false.
	View(record store.Record) (text string, ok bool)

	// Copy returns a copy of an object that may be altered and put through the pipeline. It
	// may share with the object what no stage alters.
	Copy(obj runtime.Object) runtime.Object

	// Objects makes and converts objects of the kind in all its versions.
	Objects() Objects

	// Fields returns the fields of an object that field selectors compare.
	Fields(obj runtime.Object) (fields.Set, error)

	// ReadField reads the value that Fields has for a field from the bytes of an object
	// that is stored in this version, under its present schema. If that takes decoding the
	// object, ok is false.
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

// Informed has the facts about the objects of one write, for a strategy. The strategy
// updates Facts when it changes the object or finds something out.
type Informed struct {
	// Facts are the facts about the new object.
	Facts *objectschema.Parts
	// Was are the facts about the current object; none for a create.
	Was objectschema.Parts
	// ValidMetadata says that MetadataIsValid has accepted the metadata of the object.
	ValidMetadata bool
}

// Validated is an object that a strategy has validated.
type Validated struct {
	// Subresource is the part that was written, and Old the object before; nil for a create.
	// Neither object is to be altered.
	Subresource string
	Object, Old runtime.Object
	// Refused are the errors. Version.Explain completes them, and adds the rest.
	Refused   []inspect.FieldError
	Ratcheted []inspect.FieldError
	Rules     []inspect.CELRule
}

// ContentFirst is for kinds whose objects have content that must be deleted before the
// object itself: namespaces and definitions. A delete of such an object only begins its
// deletion.
type ContentFirst struct {
	// Begin records on obj that its deletion has begun.
	Begin func(obj runtime.Object, now metav1.Time)

	// Remains reports whether something beside metadata.finalizers keeps an object that
	// is being deleted.
	Remains func(obj runtime.Object) bool

	// Mismatch begins the error of a precondition that does not hold. A real server checks the
	// preconditions of these kinds in another place, with another message.
	Mismatch string

	// DecidesDependents says that the first delete decides what becomes of dependents:
	// the finalizers of foreground and orphan deletion are set then.
	DecidesDependents bool
}

// Deletion says how the objects of a kind are deleted. The zero value is for most kinds: an
// object is deleted at once, and its dependents after it.
type Deletion struct {
	// Dependents says what becomes of an object's dependents if neither the request nor the
	// object says it. Nil: they are deleted.
	Dependents func(ctx context.Context) registryrest.GarbageCollectionPolicy

	// Forbids refuses a request to delete the object of a name. It is not called for a
	// request that deletes a collection. Nil: it refuses nothing.
	Forbids func(name string) error

	// Warning is for clients whose delete does not set what becomes of the dependents.
	// Empty: no warning.
	Warning string

	// AnswersObject says that a delete after which the object is gone is answered with the
	// object. Otherwise it is answered with a Status.
	AnswersObject bool

	// OnlyReadable says that a delete with ignoreStoreReadErrorWithClusterBreakingPotential is rejected
	// even if the object cannot be read.
	OnlyReadable bool

	// Graceful reports whether a delete only marks the object, because something else has to
	// end it and deletes it afterwards, as a kubelet does with Pods. It sets the grace period
	// in the options. Nil: deletes are never graceful.
	Graceful func(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool
}

// Allocator allocates what a cluster has only once, such as the IP addresses of Services. An object names what it
// has. It keeps that until it is deleted, or until an update removes it.
type Allocator struct {
	// Allocate allocates what obj requests and writes it into obj. Obj is a new object or the new
	// state of the current one. Allocate does not alter anything else. A dry run does not allocate.
	//
	// The caller calls finish once: with true if the object has been stored, which releases
	// what the current object had and the new one does not have; otherwise with false, which
	// releases all that was allocated. If Allocate fails, nothing has been allocated.
	Allocate func(ctx context.Context, obj, current runtime.Object, dryRun bool) (finish func(committed bool), err error)

	// Release releases what a deleted object had. It does not alter the object.
	Release func(ctx context.Context, obj runtime.Object)
}

// Patches apply patches in ways that not all kinds have. Every version takes JSON patches,
// merge patches and server-side apply.
type Patches struct {
	// StrategicMerge applies a strategic merge patch to an object. With validate, unknown
	// fields come as a strict decoding error beside the result. Nil: the kind does not take
	// such patches, because no Go type says how its lists are merged.
	StrategicMerge func(current runtime.Object, patch map[string]any, validate bool) (runtime.Object, error)

	// Merge returns the object with a merge patch merged into it, pruned and defaulted. The
	// result may share with the object what no stage alters. The caller must not use the
	// patch afterwards. With reportUnknown, unknown fields come as a strict decoding error
	// beside the result. Nil: the pipeline merges the patch into the JSON of the object.
	Merge func(current Decoded, patch map[string]any, reportUnknown bool) (Decoded, error)
}

// GroupVersion returns the version with its group.
func (v *Version) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: v.Resource.Group, Version: v.Name}
}

// Wrote reports whether a custom object was written in this version, under the present schema
// or an earlier one.
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
		// Custom resources have protobuf for Tables and partial metadata only.
		return v.Typed || mimeSubType != "vnd.kubernetes.protobuf"
	}
	if target.Group != metav1.GroupName || (target.Version != "v1" && target.Version != "v1beta1") {
		return false
	}
	switch target.Kind {
	case "Table":
		return v.Tables.Convertor != nil && mimeType == "application" && (mimeSubType == "json" || mimeSubType == "yaml")
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

// SubresourceNames returns the names of the subresources in the order of discovery: by name
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
