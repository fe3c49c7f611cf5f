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

// Version is a resource in one API version.
type Version struct {
	Resource *Resource
	Name     string
	Served   bool
	// Priority is the place of the version in discovery.
	Priority Priority

	// Warnings are added to every response in this version: its deprecation.
	Warnings []string
	// RemovedRelease is the first Kubernetes release, such as 1.22, that does not serve the version; empty: none yet.
	RemovedRelease string

	// Identity is the tag of records whose bytes are the object in this version. It changes when stored objects may be
	// read differently, for example with a new schema. The Identity of a custom resource begins with the name of the
	// version and a slash.
	Identity string

	Codec       Codec
	Strategy    Strategy
	Informed    func(Informed) Strategy // see Informed; nil: Strategy needs no facts
	Serializer  runtime.NegotiatedSerializer
	Subresource map[string]*Subresource

	// Conversions has the objects that a webhook has converted to the version; nil: there is no conversion webhook.
	Conversions *Conversions

	// Tables converts the objects to Tables.
	Tables Tables

	Patches Patches

	// MetadataIsValid is a fast check of the metadata. If it returns true, the pipeline skips the validation of
	// metadata. It may return false for valid metadata, but never true for invalid metadata. old is nil for a create.
	// nil: the pipeline always validates.
	MetadataIsValid func(obj, old runtime.Object) bool

	// ContentFirst is for objects with content that must be deleted before them; nil: they have none.
	ContentFirst *ContentFirst

	// Deletion has what is special about deletes of the kind.
	Deletion Deletion

	// Allocator allocates cluster-wide values for the objects, such as IP addresses; nil: they need none.
	Allocator *Allocator

	// MayWrite rejects a write of an object that would grant more rights than the user in the context has. obj is the
	// object before it is stored; current is nil for a create. nil: objects of the kind grant no rights.
	MayWrite func(ctx context.Context, obj, current runtime.Object) error

	// FieldManager manages the owners of an object's fields.
	FieldManager Fields
	// Types returns the types of the kind, for admission policies that merge objects; nil: policies cannot merge them.
	Types func() (managedfields.TypeConverter, error)

	// Typed: objects are encoded from Go types, so that kind comes first, and the items of a list have neither kind nor
	// apiVersion. Otherwise they are encoded from maps.
	Typed bool

	// CheckBody rejects a body with which upstream's code would compute for too long, before it is decoded. The body is
	// protobuf if it is not text. nil: there are no such bodies.
	CheckBody func(body []byte, isText bool) error

	// Explain adds the reasons why the strategy accepts or rejects an object, for a client that requests an explanation.
	// It may take long. nil: there is nothing to add.
	Explain func(ctx context.Context, j *Validated)

	// Unstored is for kinds whose objects are not stored; the zero value is for stored ones.
	Unstored Unstored

	// Exceptions has what only few kinds need.
	Exceptions Exceptions

	// OpenAPI describes the version in OpenAPI; nil: it is not published.
	OpenAPI *OpenAPI
}

// Priority is the place of a version in discovery. Groups with a higher number come first, and versions with a higher
// number come first in their group; those with the same number are in the order of their names, v2 before v1 before
// v1beta1. The number of a group is the highest of its versions.
type Priority struct{ Group, Version int }

// Tables converts the objects of a version to Tables, which kubectl get requests.
type Tables struct {
	// Convertor returns the columns, and the row of an object; nil: there are no Tables.
	Convertor registryrest.TableConvertor
	// OfList returns the Table of several objects, for kinds whose rows depend on each other: in a list of
	// StorageClasses one is the default, and FlowSchemas are sorted. Each row contains its object. nil: Convertor
	// returns each row by itself.
	OfList func(ctx context.Context, objects []runtime.Object, options *metav1.TableOptions) (*metav1.Table, error)
	// ReadCells reads the cells of a row from the JSON of an object in this version. ok is false if the object must be
	// decoded. nil: it always must.
	ReadCells func(ctx context.Context, text string) (cells []any, ok bool, err error)
	// NullRows: the rows of a Table without objects are null, not an empty list.
	NullRows bool
}

// Unstored has the behavior of a kind whose objects are not stored. At most one field is set.
type Unstored struct {
	// Review returns the answer to a create.
	Review Review
	// Action carries out a create, such as that of a Binding.
	Action *Action
	// Computed are all objects of the kind, sorted by name, as JSON of this version. They never change.
	Computed []store.Record
}

// Exceptions has what only few kinds need. The zero value is for all others.
type Exceptions struct {
	// MayHaveItems: a custom object may have a field items of its own. If that is a list, the object cannot be returned
	// (view.View.Object).
	MayHaveItems bool
	// Uncompiled reports whether the next write may compile rules, which takes long; nil: no write does.
	Uncompiled func() bool
	// FieldAnnotations are annotations of a HorizontalPodAutoscaler for fields that this version does not have.
	// PartialObjectMetadata does not show them.
	FieldAnnotations []string
	// Undecodable is the error for every body; empty: none. A real server cannot decode a Scale of custom objects.
	Undecodable string
}

// Review returns the object of the body, such as a SubjectAccessReview, with its status. It first calls validate, which
// is validating admission.
type Review func(ctx context.Context, obj runtime.Object, validate registryrest.ValidateObjectFunc) (runtime.Object, error)

// Subresource is a subresource of a version.
type Subresource struct {
	Strategy registryrest.RESTUpdateStrategy
	Verbs    []string
	// Informed is like Version.Informed.
	Informed func(Informed) registryrest.RESTUpdateStrategy
	// FieldManager manages the owners of fields that requests to the subresource set.
	FieldManager Fields

	// Kind is the kind that discovery shows for the subresource; empty: the kind of the
	// object, or that of the projection.
	Kind schema.GroupVersionKind

	// Projection shows the object as another kind; nil: it is shown as itself.
	Projection Projection

	// Action carries out a create at the subresource; nil: there is none.
	Action *Action
	// Connection connects the client; nil: the subresource is not a connection.
	Connection *Connection

	// NoTable: the subresource cannot be requested as a Table.
	NoTable bool
	// AppliedCreates: an apply to the subresource creates the object if it does not exist.
	AppliedCreates bool
}

// KindOf returns the kind of a subresource.
func (v *Version) KindOf(s *Subresource) schema.GroupVersionKind {
	switch {
	case s.Projection != nil:
		return s.Projection.View().Kind()
	case !s.Kind.Empty():
		return s.Kind
	}
	return v.Kind()
}

// Projection shows an object as another kind, and writes changes of that back.
type Projection interface {
	// View returns the version of the other kind. It does not have a strategy.
	View() *Version
	// Project returns the object for a get. It may fail for an object from which a change can start.
	Project(obj runtime.Object) (runtime.Object, error)
	// Written returns a written object for admission and for the response.
	Written(obj runtime.Object) (runtime.Object, error)
	// Before returns the object from which a change starts, with its managedFields.
	Before(obj runtime.Object) (runtime.Object, error)
	// Into returns a copy of the object with the change written into it.
	Into(obj, projected runtime.Object) (runtime.Object, error)
}

// Codec decodes and encodes the objects of one version. The objects are those of the Strategy: unstructured for custom
// resources, Go types of the internal version for kinds that have one.
//
// It is safe for concurrent use.
type Codec interface {
	// New returns an empty object to decode into.
	New() runtime.Object

	// Decode decodes a request body with the given serializer, and prunes and defaults the object. For unknown and
	// duplicate fields it returns a strict decoding error beside the object.
	Decode(body []byte, serializer runtime.Serializer) (Decoded, *schema.GroupVersionKind, error)

	// DecodePatched is Decode for the JSON of a patched object in this version. Decode reads a body without apiVersion
	// and kind in this version; DecodePatched reads one without apiVersion in the internal version, as a real server
	// does: its field names are those of the Go type, and "metadata" is unknown.
	DecodePatched(text []byte, serializer runtime.Serializer) (Decoded, error)

	// DecodeStored decodes a record of any version in this version, and sets the resourceVersion. The object may be
	// shared and must not be altered. If the conversion fails, the error is a CorruptError.
	DecodeStored(record store.Record) (runtime.Object, error)

	// DecodeAllStored decodes several records, with at most one call of a conversion webhook.
	DecodeAllStored(records []store.Record) ([]runtime.Object, error)

	// DecodeShown decodes a result of View or Encode to the form of DecodeStored. It adds no defaults: an object that is
	// stored in another version may lack those of this one.
	DecodeShown(text string) (runtime.Object, error)

	// DecodeAs decodes the JSON of an object in this version to an object of this version.
	DecodeAs(text string) (runtime.Object, error)

	// Encode returns the object as JSON in this version, without a line break at the end.
	Encode(obj runtime.Object) ([]byte, error)

	// EncodeToStore is Encode for the store. It also fills in defaults and drops unknown fields, as decoding would, so
	// that readers get these bytes.
	EncodeToStore(obj Decoded) (Encoded, error)

	// View returns the JSON of a record in this version, as DecodeStored and Encode would. ok is false if the record
	// must be decoded.
	View(record store.Record) (text string, ok bool)

	// External is Version.External for an object of another type than that of the version.
	External(obj runtime.Object) (runtime.Object, error)

	// Copy returns a copy of an object for the write pipeline. It may share with the object what no stage alters.
	Copy(obj runtime.Object) runtime.Object

	// Objects creates and converts objects of the kind in all its versions.
	Objects() Objects

	// Fields returns the fields of an object that field selectors compare.
	Fields(obj runtime.Object) (fields.Set, error)

	// ReadField returns the value that Fields has for a field, from the text of an object that is stored in this version
	// under its current schema. ok is false if the object must be decoded.
	ReadField(text, field string) (value string, ok bool)

	// ConvertFieldLabel checks and converts a requirement of a field selector.
	ConvertFieldLabel(label, value string) (string, string, error)
}

// Strategy prepares and validates the objects of a kind in the write pipeline.
type Strategy interface {
	registryrest.RESTCreateStrategy
	registryrest.RESTUpdateStrategy
}

// Informed has the facts about the objects of one write, for a strategy. The strategy
// updates Facts when it changes the object or finds something out.
type Informed struct {
	// Facts are the facts about the new object.
	Facts *objectschema.Parts
	// Former are the facts about the current object; none for a create.
	Former objectschema.Parts
	// ValidMetadata: MetadataIsValid has accepted the metadata of the object.
	ValidMetadata bool
}

// Validated is an object that a strategy has validated, for an explanation.
type Validated struct {
	// Subresource is the written subresource; Old is nil for a create. Neither object may be altered.
	Subresource string
	Object, Old runtime.Object
	// Refused are the errors. Version.Explain completes them, and sets the other fields.
	Refused   []inspect.FieldError
	Ratcheted []inspect.FieldError
	Rules     []inspect.CELRule
}

// ContentFirst is for kinds whose objects have content that must be deleted before the object itself: Namespaces and
// CustomResourceDefinitions. A delete of such an object only begins its deletion.
type ContentFirst struct {
	// Begin records on obj that its deletion has begun.
	Begin func(obj runtime.Object, now metav1.Time)

	// Remains reports whether something besides metadata.finalizers delays the deletion of an object.
	Remains func(obj runtime.Object) bool

	// Mismatch begins the error of a precondition that does not hold. A real server checks the
	// preconditions of these kinds in another place, with another message.
	Mismatch string

	// DecidesDependents: the first delete sets the finalizers of foreground and orphan deletion.
	DecidesDependents bool
}

// Deletion configures deletes of a kind. The zero value is for most kinds: an object is deleted at once, and its
// dependents after it.
type Deletion struct {
	// Dependents returns the default garbage collection policy for dependents. nil: they are deleted.
	Dependents func(ctx context.Context) registryrest.GarbageCollectionPolicy

	// Forbids rejects the delete of the object with a name. It is not called for a deletecollection. nil: no delete is
	// forbidden.
	Forbids func(name string) error

	// Warning is the warning for a delete without a propagation policy; empty: none.
	Warning string

	// AnswersObject: the response to a delete that removes the object is the object, not a Status.
	AnswersObject bool

	// OnlyReadable: a delete with ignoreStoreReadErrorWithClusterBreakingPotential is rejected
	// even if the object cannot be read.
	OnlyReadable bool

	// Graceful reports whether a delete only marks the object, because something else ends and then deletes it, as a
	// kubelet does with Pods. It sets the grace period in the options. nil: deletes are never graceful.
	Graceful func(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool
}

// Allocator allocates values that are unique in a cluster, such as the IPs of Services. The object contains its values.
// It keeps them until it is deleted, or until an update removes them.
type Allocator struct {
	// Allocate allocates what obj requests and writes it into obj, a new object or the new state of the current one. It
	// does not alter anything else. A dry run does not allocate.
	//
	// The caller calls finish once: with true if the object has been stored, which releases
	// what the current object had and the new one does not have; otherwise with false, which
	// releases all that was allocated. If Allocate fails, nothing has been allocated.
	Allocate func(ctx context.Context, obj, current runtime.Object, dryRun bool) (finish func(committed bool), err error)

	// Release releases what a deleted object had. It does not alter the object.
	Release func(ctx context.Context, obj runtime.Object)
}

// Patches has the types of patches that not all kinds support. Every version accepts JSON patches, merge patches and
// server-side apply.
type Patches struct {
	// StrategicMerge applies a strategic merge patch to an object. With validate, it returns a strict decoding error for
	// unknown fields beside the result. nil: the kind does not accept such patches, because it has no Go type.
	StrategicMerge func(current runtime.Object, patch map[string]any, validate bool) (runtime.Object, error)

	// Merge returns the object with a merge patch merged into it, pruned and defaulted. The result may share with the
	// object what no stage alters. With reportUnknown, unknown fields are unusual. ok is false if anything about the patch
	// or its result is unusual; the pipeline then merges the patch into the JSON of the object, or returns the error.
	Merge func(current Decoded, patch []byte, reportUnknown bool) (obj Decoded, ok bool)
}

// GroupVersion returns the version with its group.
func (v *Version) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: v.Resource.Group, Version: v.Name}
}

// Wrote reports whether a custom object was written in this version, under the current schema or an earlier one.
func (v *Version) Wrote(record store.Record) bool {
	return strings.HasPrefix(record.Tag, v.Name+"/")
}

// Kind returns the kind in this version.
func (v *Version) Kind() schema.GroupVersionKind {
	return v.GroupVersion().WithKind(v.Resource.Names.Kind)
}

// GroupVersionResource returns the resource in this version.
func (v *Version) GroupVersionResource() schema.GroupVersionResource {
	return v.GroupVersion().WithResource(v.Resource.Names.Plural)
}

// AllowsMediaTypeTransform implements negotiation.EndpointRestrictions. It reports whether objects can be served as a
// Table or partial metadata.
func (v *Version) AllowsMediaTypeTransform(mimeType, mimeSubType string, target *schema.GroupVersionKind) bool {
	if target == nil {
		// Custom resources are served in protobuf as Tables and partial metadata only.
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
