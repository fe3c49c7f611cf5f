package rest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// write is one write on its way through the pipeline: the create, the update or
// the removal of an object, whichever verb asked for it.
//
// Create and update read from top to bottom in the order of upstream's handlers
// and generic registry. Stages that a later feature fills are methods that do
// nothing yet.
type write struct {
	*Server
	ctx       context.Context
	chain     *restadmission.Chain
	version   *resource.Version
	namespace string
	name      string // empty while a create has yet to generate it
	options   runtime.Object
	dryRun    bool

	// ownersFound is when duplicate owners of the object as it was sent are found.
	ownersFound string
	// collection says that the object is deleted with others, and not by its name.
	collection bool
	// replaced says that admission has changed the object.
	replaced bool

	// manager is who owns the fields that the write sets.
	manager string
	// applied says that field management has been done, by an apply.
	applied bool

	// subresource is the part that is updated; empty for the object itself.
	subresource string
	// uid is what an updated object must have; empty for any.
	uid types.UID
	// require is what must still hold when the write commits, so that nothing is
	// committed that was judged by what has changed since.
	require []store.Precondition
	// missing says that an update found no object.
	missing bool
	// always is what has to hold beside that, whatever the write is judged by.
	always []store.Precondition
}

// outcome is what a write came to.
type outcome struct {
	// text is the object in the version of the request.
	text    string
	object  runtime.Object
	created bool // by an apply
	deleted bool
}

// create commits a new object. It changes obj.
func (w *write) create(obj runtime.Object) (outcome, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return outcome{}, apierrors.NewInternalError(err)
	}
	registryrest.WipeObjectMetaSystemFields(metadata)
	if err := registryrest.EnsureObjectNamespaceMatchesRequestNamespace(w.namespace, metadata); err != nil {
		return outcome{}, err
	}
	w.dropDuplicateOwners(obj, w.ownersFound)
	if obj, err = w.manageFields(obj, nil); err != nil {
		return outcome{}, err
	}
	if metadata, err = meta.Accessor(obj); err != nil {
		return outcome{}, apierrors.NewInternalError(err)
	}
	if err := w.admit(admission.Create, obj, nil); err != nil {
		return outcome{}, err
	}

	metadata.SetCreationTimestamp(w.now())
	metadata.SetUID(w.random.uid())
	if metadata.GetName() == "" && metadata.GetGenerateName() != "" {
		metadata.SetName(w.random.name(metadata.GetGenerateName()))
	}
	if err := w.beforeCreate(obj); err != nil {
		return outcome{}, err
	}
	if err := w.validate(admission.Create, obj, nil); err != nil {
		return outcome{}, err
	}
	w.name = metadata.GetName()
	if revision, err := (storage.APIObjectVersioner{}).ObjectResourceVersion(obj); err == nil && revision != 0 {
		return outcome{}, storage.ErrResourceVersionSetOnCreate
	}
	if w.dryRun {
		return w.dryRunCreate(obj)
	}
	return w.commitCreate(obj)
}

// update commits what change makes of the current object. It calls change again
// when another writer was faster; change must not alter its argument.
func (w *write) update(change func(current runtime.Object) (runtime.Object, error)) (outcome, error) {
	for {
		out, err := w.updateOnce(change)
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return out, err
		}
	}
}

func (w *write) updateOnce(change func(runtime.Object) (runtime.Object, error)) (outcome, error) {
	record, current, err := w.load()
	if err != nil {
		return outcome{}, err
	}
	if err := w.checkUID(current); err != nil {
		return outcome{}, err
	}
	obj, err := w.throughProjection(change)(current)
	if err != nil {
		return outcome{}, err
	}
	w.dropDuplicateOwners(obj, w.ownersFound)
	if obj, err = w.manageFields(obj, current); err != nil {
		return outcome{}, err
	}
	if err := w.admit(admission.Update, obj, current); err != nil {
		return outcome{}, err
	}
	if err := w.checkResourceVersion(obj, record); err != nil {
		return outcome{}, err
	}
	if err := w.beforeUpdate(obj, current); err != nil {
		return outcome{}, err
	}
	if obj, err = w.keepTimestamps(obj, current); err != nil {
		return outcome{}, err
	}
	if err := w.validate(admission.Update, obj, current); err != nil {
		return outcome{}, err
	}
	if w.completesDeletion(obj, current) {
		return w.commitDelete(record, obj)
	}
	return w.commitUpdate(record, obj)
}

// load reads the current object, as the version of the request sees it.
func (w *write) load() (store.Record, runtime.Object, error) {
	record, err := w.store.Get(w.key())
	w.missing = errors.Is(err, store.ErrNotFound)
	if w.missing {
		return record, nil, apierrors.NewNotFound(w.version.Resource.GroupResource(), w.name)
	}
	if err != nil {
		return record, nil, err
	}
	current, err := w.version.Codec.DecodeStored(record)
	return record, current, err
}

func (w *write) key() string { return w.version.Resource.Key(w.namespace, w.name) }

// strategy is that of the object or of the subresource that is updated.
func (w *write) strategy() registryrest.RESTUpdateStrategy {
	if w.subresource == "" {
		return w.version.Strategy
	}
	return w.version.Subresource[w.subresource].Strategy
}

// checkUID refuses to update an object that has taken the place of the one that
// is meant, in the words of upstream's storage.
func (w *write) checkUID(current runtime.Object) error {
	metadata, err := meta.Accessor(current)
	if err != nil || w.uid == "" || w.uid == metadata.GetUID() {
		return err
	}
	key := "/registry/" + w.version.Resource.Group + "/" + w.version.Resource.Names.Plural + "/" + w.namespace + "/" + w.name
	return apierrors.NewConflict(w.version.Resource.GroupResource(), w.name, storage.NewInvalidObjError(key,
		fmt.Sprintf("Precondition failed: UID in precondition: %v, UID in object meta: %v", w.uid, metadata.GetUID())))
}

// checkResourceVersion refuses an update of what the client has not seen. Kinds
// that allow it can be updated without saying what one has seen.
func (w *write) checkResourceVersion(obj runtime.Object, record store.Record) error {
	versioner := storage.APIObjectVersioner{}
	seen, err := versioner.ObjectResourceVersion(obj)
	if err != nil {
		return err
	}
	gr := w.version.Resource.GroupResource()
	switch {
	case seen == uint64(record.Revision):
		return nil
	case seen != 0:
		return apierrors.NewConflict(gr, w.name, errModified)
	case w.strategy().AllowUnconditionalUpdate(w.ctx):
		return versioner.UpdateObject(obj, uint64(record.Revision))
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: gr.Group, Kind: gr.Resource}, w.name, field.ErrorList{
		field.Invalid(field.NewPath("metadata", "resourceVersion"), seen, "must be specified for an update"),
	})
}

// completesDeletion tells whether the update takes away the last thing that kept
// an object that is being deleted.
func (w *write) completesDeletion(obj, current runtime.Object) bool {
	is, err := meta.Accessor(obj)
	if err != nil || len(is.GetFinalizers()) > 0 {
		return false
	}
	was, err := meta.Accessor(current)
	if err != nil || was.GetDeletionTimestamp() == nil {
		return false
	}
	if grace := was.GetDeletionGracePeriodSeconds(); grace != nil && *grace != 0 {
		return false
	}
	content := w.version.ContentFirst
	return content == nil || !content.Remains(obj)
}

// now is the time that objects are stamped with.
func (s *Server) now() metav1.Time { return metav1.NewTime(s.options.Now()) }

func formatRevision(revision int64) string { return strconv.FormatInt(revision, 10) }
