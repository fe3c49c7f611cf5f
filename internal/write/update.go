package write

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// replace carries out a Replace. It first checks what does not depend on the current
// object.
func (a attempt) replace(change Replace) (Result, error) {
	obj, err := change.Object.in(a.ctx, a.request, a.shownAs())
	if err != nil {
		return Result{}, err
	}
	metadata, err := meta.Accessor(obj.Object)
	if err != nil {
		return Result{}, apierrors.NewBadRequest(err.Error())
	}
	if err := a.checkPath(metadata); err != nil {
		return Result{}, err
	}
	dropDuplicateOwners(a.ctx, metadata, beforeAdmission) // even if there is nothing to replace
	e := edit{
		uid:    metadata.GetUID(),
		change: func(resource.Decoded) (resource.Decoded, bool, error) { return obj, false, nil },
		owners: beforeAdmission,
	}
	if a.projection == nil && a.updateStrategy().AllowCreateOnUpdate(a.ctx) {
		e.create = func() (newObject, error) { return newObject{Decoded: obj, owners: beforeAdmission}, nil }
	}
	return a.update(e)
}

// edit describes how an update changes an object.
type edit struct {
	// uid is the uid that the current object must have; empty: any.
	uid types.UID
	// change returns the wanted object for the current one, in the kind that the write shows. It must not alter the
	// current one. managed is as in newObject.
	change func(shown resource.Decoded) (wanted resource.Decoded, managed bool, err error)
	// create returns the object to create if none exists; nil: the update then fails.
	create func() (newObject, error)
	// owners is the text in the warning about duplicate ownerReferences of the wanted object. A Replace drops them
	// before the update begins.
	owners string
}

// update applies an edit to the current object, and commits the result.
func (a attempt) update(e edit) (Result, error) {
	// The current object, and the wanted one.
	record, current, err := a.load()
	if errors.Is(err, store.ErrNotFound) {
		return a.updateNothing(e, err)
	}
	if err != nil {
		return Result{}, err
	}
	if err := a.checkUID(e.uid, current.Object); err != nil {
		return Result{}, err
	}
	shown, err := a.project(current)
	if err != nil {
		return Result{}, err
	}
	wanted, managed, err := e.change(shown)
	if err != nil {
		return Result{}, err
	}
	if err := a.isBounded(wanted.Object); err != nil {
		return Result{}, err
	}

	// Field management.
	if !managed {
		if wanted, err = a.manageFields(wanted, shown); err != nil {
			return Result{}, err
		}
	}
	if err := a.inTime(); err != nil {
		return Result{}, err
	}

	// Mutating admission, whether the user may grant what the object grants, and the
	// resourceVersion that the request names.
	admitted, err := a.mutatingAdmission(admission.Update, wanted.Object, shown.Object)
	if err != nil {
		return Result{}, err
	}
	if e.owners == afterAdmission || admitted.replaced {
		if err := dropDuplicateOwnersOf(a.ctx, wanted.Object, afterAdmission); err != nil {
			return Result{}, err
		}
	}
	if a.unmanaged {
		metadata, err := meta.Accessor(wanted.Object)
		if err != nil {
			return Result{}, apierrors.NewInternalError(err)
		}
		metadata.SetManagedFields(nil)
	}
	if admitted.replaced {
		wanted = resource.Decoded{Object: wanted.Object}
	}
	obj, err := a.unproject(current, wanted)
	if err != nil {
		return Result{}, err
	}
	if err := a.mayWrite(obj.Object, current.Object); err != nil {
		return Result{}, err
	}
	if err := a.checkResourceVersion(obj.Object, record); err != nil {
		return Result{}, err
	}

	// Allocation of cluster-wide values, then the kind's strategy, which prepares and validates the object.
	committed := false
	a.observe.Preparing(obj.Object)
	done, err := a.allocate(obj.Object, current.Object)
	if err != nil {
		return Result{}, err
	}
	defer func() { done(committed) }()
	err = a.prepareAndValidateUpdate(&obj, current)
	a.observe.Prepared(a.ctx, obj.Object, current.Object, err)
	if err != nil {
		return Result{}, err
	}
	if obj.Object, err = a.keepTimestamps(obj.Object, current.Object); err != nil {
		return Result{}, err
	}

	// Validating admission.
	if err := a.validatingAdmission(admission.Update, obj.Object, current.Object); err != nil {
		return Result{}, err
	}
	if err := a.inTime(); err != nil {
		return Result{}, err
	}

	// The commit. It is a delete if the update removes the last finalizer of an object that is being deleted.
	a.observe.Changed(obj.Object, current.Object)
	if a.completesDeletion(obj.Object, current.Object) {
		return a.commitDelete(record, obj.Object, admitted.require)
	}
	stored, err := a.put(record, obj, current.Object, admitted.require)
	committed = err == nil
	return a.resultOf(stored, obj.Object, err)
}

// updateNothing is update for an object that does not exist.
func (a attempt) updateNothing(e edit, notFound error) (Result, error) {
	if e.create == nil || a.request.Revision != 0 {
		return Result{}, a.notFound(notFound)
	}
	if err := a.checkUID(e.uid, nil); err != nil {
		return Result{}, err
	}
	n, err := e.create()
	if err != nil {
		return Result{}, err
	}
	n.updates = true
	return a.create(n)
}

// checkPath checks that an object has the namespace and the name of the request.
func (a attempt) checkPath(metadata metav1.Object) error {
	if err := registryrest.EnsureObjectNamespaceMatchesRequestNamespace(a.request.Namespace, metadata); err != nil {
		return err
	}
	switch name := a.request.Name; metadata.GetName() {
	case name:
		return nil
	case "":
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s based on URL) was undeterminable: name must be provided", name))
	default:
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", metadata.GetName(), name))
	}
}

// completesDeletion reports whether the update removes the last finalizer or content that prevented the deletion
// of an object.
func (a attempt) completesDeletion(obj, current runtime.Object) bool {
	after, err := meta.Accessor(obj)
	if err != nil || len(after.GetFinalizers()) > 0 {
		return false
	}
	before, err := meta.Accessor(current)
	if err != nil || before.GetDeletionTimestamp() == nil {
		return false
	}
	if grace := before.GetDeletionGracePeriodSeconds(); grace != nil && *grace != 0 {
		return false
	}
	content := a.version.ContentFirst
	return content == nil || !content.Remains(obj)
}
