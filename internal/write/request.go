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
	// Version is the version of the kind that the request is made in.
	Version   *resource.Version
	Namespace string // empty for a cluster-scoped resource
	// Name is the name of the object. A create may leave it empty: then the new object
	// has its name in its metadata, or a generateName.
	Name string
	// Subresource is the part of the object that is written; empty for the object
	// itself.
	Subresource string

	// Change is what to make of the object.
	Change Change
	// Manager becomes the owner of the fields that the write sets.
	Manager string
	// Options say whether the write is a dry run, and are shown to admission.
	Options Options

	// Revision, if it is not 0, is the revision that the object must have. If the object
	// has another one, or is gone, the write fails with ErrObsolete and is not tried again.
	Revision int64
	// Require has conditions on other records that must hold when the write commits. It
	// needs a Revision as well: if a condition does not hold, the write fails with
	// ErrObsolete and is not retried, because the caller has to decide how to go on.
	Require []store.Precondition

	// Refuse may reject the write after all plugins; nil: nothing does.
	Refuse func(admission.Attributes) error

	// Collection says that the delete is part of a deletecollection: admission does not get
	// the name of the object.
	Collection bool
	// SkipAdmission leaves out all admission: plugins, policies, webhooks and functions.
	SkipAdmission bool

	// MeasuresQuotaLater says that many objects are deleted together: their quotas are measured once,
	// after the last delete, and not updated with each.
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
	// Stored is what decoding Text gives, in the hub version; nil: it is not at hand. It must not be altered.
	Stored  runtime.Object
	Created bool
	Deleted bool
	// Shown says that a client is answered with the object though it is deleted.
	Shown bool
}

// DeletedStatus returns the Status that answers a delete after which the object is gone.
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

// Change is what a write makes of an object: Create, Replace, Patch, Apply, Delete,
// Put or Drop.
type Change interface{ isChange() }

// Create makes a new object.
type Create struct{ Object Object }

// Replace puts an object in the place of the current one. If there is none, it creates the
// object for kinds that allow that (AllowCreateOnUpdate).
type Replace struct{ Object Object }

// Patch changes the current object by a JSON patch, a merge patch or a strategic
// merge patch.
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
	Validation string // as of a Patch
}

// Delete removes the object. If a finalizer or content holds it back, Delete marks it as
// being deleted.
type Delete struct{ Options *metav1.DeleteOptions }

// Put stores what Make makes of a copy of the current object. It passes neither admission
// nor the kind's strategy, and no manager owns what it changes. Upstream's storages write
// in this way where they do more than a strategy says, for example to bind a pod. Make is
// called once for each attempt.
type Put struct {
	Make func(obj runtime.Object) (runtime.Object, error)
}

// Drop removes the object if Check, which must not alter it, allows that. It passes neither
// admission nor the kind's strategy, and finalizers do not matter.
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
