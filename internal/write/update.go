package write

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/internal/resource"
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
