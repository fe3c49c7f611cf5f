package write

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/store"
)

// checkUID rejects an update of an object with another uid. current is nil if no object exists.
func (a attempt) checkUID(uid types.UID, current runtime.Object) error {
	var found types.UID
	if current != nil {
		metadata, err := meta.Accessor(current)
		if err != nil {
			return err
		}
		found = metadata.GetUID()
	}
	if uid == "" || uid == found {
		return nil
	}
	key := a.version.Resource.KeyInEtcd(a.request.Namespace, a.request.Name)
	if a.request.isDryRun() {
		key = strings.TrimPrefix(key, "/registry") // the storage of dry runs does not have the prefix of etcd
	}
	return a.invalidObject(key, fmt.Sprintf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, found))
}

// invalidObject returns the Conflict of upstream's storage for an object that does not meet a precondition.
func (a attempt) invalidObject(key, message string) error {
	return apierrors.NewConflict(a.version.Resource.GroupResource(), a.request.Name, storage.NewInvalidObjError(key, message))
}

// checkPreconditions rejects a delete if the object has another uid or resourceVersion than the client expects. mismatch
// is the beginning of the message.
func (a attempt) checkPreconditions(p *metav1.Preconditions, current runtime.Object, mismatch string) error {
	metadata, err := meta.Accessor(current)
	if p == nil || err != nil {
		return err
	}
	gr := a.version.Resource.GroupResource()
	if uid := metadata.GetUID(); p.UID != nil && *p.UID != uid {
		return apierrors.NewConflict(gr, a.request.Name, fmt.Errorf("%s: UID in precondition: %v, UID in object meta: %v", mismatch, *p.UID, uid))
	}
	if seen := metadata.GetResourceVersion(); p.ResourceVersion != nil && *p.ResourceVersion != seen {
		return apierrors.NewConflict(gr, a.request.Name, fmt.Errorf("%s: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", mismatch, *p.ResourceVersion, seen))
	}
	return nil
}

// checkResourceVersion rejects an update with another resourceVersion than the current one. Without a resourceVersion it
// accepts the update for kinds that allow unconditional updates.
func (a attempt) checkResourceVersion(obj runtime.Object, record store.Record) error {
	versioner := storage.APIObjectVersioner{}
	seen, err := versioner.ObjectResourceVersion(obj)
	if err != nil {
		return err
	}
	gr := a.version.Resource.GroupResource()
	switch {
	case seen == uint64(record.Revision):
		return nil
	case seen != 0:
		a.observe.Overtaken(int64(seen), record.Revision)
		return apierrors.NewConflict(gr, a.request.Name, errModified)
	case a.updateStrategy().AllowUnconditionalUpdate(a.ctx):
		return versioner.UpdateObject(obj, uint64(record.Revision))
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: gr.Group, Kind: gr.Resource}, a.request.Name, field.ErrorList{
		field.Invalid(field.NewPath("metadata", "resourceVersion"), seen, "must be specified for an update"),
	})
}

// unlessRedefined returns the preconditions of the request, and one that the definition of the kind has not changed.
func (a attempt) unlessRedefined() []store.Precondition {
	definition := a.version.Resource.Definition
	if definition.Key == "" {
		return a.request.Require
	}
	return append(a.request.Require[:len(a.request.Require):len(a.request.Require)], definition)
}
