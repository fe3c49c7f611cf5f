package write

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Request is one write of a client or a controller. The user is in the context.
type Request struct {
	// Version is the version of the kind in the request.
	Version   *resource.Version
	Namespace string // empty for a cluster-scoped resource
	// Name is the name of the object. A create may leave it empty: then the new object
	// has its name in its metadata, or a generateName.
	Name string
	// Subresource is the subresource to write; empty for the object itself.
	Subresource string

	// Change is the operation.
	Change Change
	// Manager becomes the owner of the fields that the write sets.
	Manager string
	// Options are the options of the request, as admission sees them.
	Options Options

	// Revision, if it is not 0, is the revision that the object must have. If the object
	// has another one, or is gone, the write fails with ErrObsolete and is not tried again.
	Revision int64
	// Require has conditions on other records that must hold when the write commits. It needs a Revision, too: if a
	// condition does not hold, the write fails with ErrObsolete and is not retried.
	Require []store.Precondition

	// Refuse may reject the write after all plugins; may be nil.
	Refuse func(admission.Attributes) error

	// Collection: the delete is part of a deletecollection, so admission does not get the name of the object.
	Collection bool
	// SkipAdmission skips all admission: plugins, policies, webhooks and functions.
	SkipAdmission bool

	// MeasuresQuotaLater: many objects are deleted together, and the caller measures their quotas once, after the last
	// delete.
	MeasuresQuotaLater bool
}

// Options are the options of the client's request. For a delete, admission sees the options
// of the Change instead.
type Options struct {
	// DryRun, if it is not empty, makes the write pass all stages except the commit.
	DryRun          []string
	FieldManager    string
	FieldValidation string
}

func (r *Request) isDryRun() bool { return len(r.Options.DryRun) > 0 }

// Result is the outcome of a write.
type Result struct {
	// Version is the version of the request, from the registry that the write
	// used.
	Version *resource.Version
	// Text is the object as JSON in that version.
	Text string
	// Object is the same object, decoded. It must not be altered.
	Object runtime.Object
	// Stored is the object in the hub version, as decoding Text returns it; nil: not available. It must not be altered.
	Stored  runtime.Object
	Created bool
	Deleted bool
	// Shown: the response is the object, although it was deleted.
	Shown bool
}

// DeletedStatus returns the Status with which a server answers a delete that has removed the object.
func (r Result) DeletedStatus() (*metav1.Status, error) {
	metadata, err := meta.Accessor(r.Object)
	if err != nil {
		return nil, err
	}
	res := r.Version.Resource
	return &metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: metadata.GetName(), Group: res.Group, Kind: res.Names.Plural, UID: metadata.GetUID()},
	}, nil
}

// Change is the operation of a write: Create, Replace, Patch, Apply, Delete, Put or Drop.
type Change interface{ isChange() }

// Create creates an object.
type Create struct{ Object Object }

// Replace replaces the current object. If none exists, it creates the object for kinds that allow that
// (AllowCreateOnUpdate).
type Replace struct{ Object Object }

// Patch applies a JSON patch, a merge patch or a strategic merge patch to the current object.
type Patch struct {
	Type types.PatchType
	Body []byte
	// Validation is the fieldValidation directive: Ignore, Warn or Strict.
	Validation string
}

// Apply merges an apply configuration into the current object, or creates an object from it
// if there is none.
type Apply struct {
	Body       []byte // YAML or JSON
	Force      bool
	Validation string // as in Patch
}

// Delete removes the object. If a finalizer, content or a grace period delays that, Delete marks it as being deleted.
type Delete struct{ Options *metav1.DeleteOptions }

// Put stores the result of Make for a copy of the current object. It skips admission, the kind's strategy and field
// management. Upstream's storages write in this way where a strategy does not suffice, for example to bind a pod. Make
// is called once for each attempt.
type Put struct {
	Make func(obj runtime.Object) (runtime.Object, error)
}

// Drop removes the object if Check, which must not alter it, returns nil. It skips admission and the kind's strategy,
// and ignores finalizers.
type Drop struct {
	Check func(obj runtime.Object) error
}

func (Create) isChange()  {}
func (Replace) isChange() {}
func (Patch) isChange()   {}
func (Apply) isChange()   {}
func (Delete) isChange()  {}
func (Put) isChange()     {}
func (Drop) isChange()    {}
