package write

import (
	"errors"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// nameAttempts is the number of generated names that a create tries.
const nameAttempts = 8

// newObject is an object to create.
type newObject struct {
	resource.Decoded
	// managed: the managedFields of the object already include this write.
	managed bool
	// owners is the text in the warning about duplicate ownerReferences.
	owners string
	// updates: the request is an update or an apply. The object is stored under the name of the request, even if
	// admission changes its name, and may have a resourceVersion. Metadata that a client cannot set is removed only
	// after admission.
	updates bool
}

// createNew carries out a Create: the name must be free. As on a real server, mutating admission is called once. The
// later stages are repeated on a copy of the object if a generated name is taken, and once without managedFields if the
// object is too large for etcd.
func (a attempt) createNew(obj resource.Decoded) (Result, error) {
	n := newObject{Decoded: obj, owners: beforeAdmission}
	require, err := a.admitNew(&n)
	if err != nil {
		return Result{}, err
	}
	metadata, err := meta.Accessor(n.Object)
	if err != nil {
		return Result{}, apierrors.NewInternalError(err)
	}
	generated, unmanaged := metadata.GetName() == "" && metadata.GetGenerateName() != "", false
	for names := 1; ; {
		one := n
		if generated {
			one.Object = a.version.Codec.Copy(n.Object)
		}
		result, err := a.storeNew(one, require)
		var exists *store.ExistsError
		if errors.As(err, &exists) {
			err = a.alreadyExists(exists, metadata.GetGenerateName())
		}
		var tooLarge *tooLargeError
		switch {
		case errors.As(err, &tooLarge) && !unmanaged:
			unmanaged = true
			metadata.SetManagedFields(nil)
			metadata.SetResourceVersion("") // encoding has set one
			n.Decoded = resource.Decoded{Object: n.Object}
		case !generated || names == nameAttempts || !apierrors.IsAlreadyExists(err):
			return result, err
		default:
			names++
		}
	}
}

// create carries out the create of an object. It alters the object.
func (a attempt) create(n newObject) (Result, error) {
	require, err := a.admitNew(&n)
	if err != nil {
		return Result{}, err
	}
	return a.storeNew(n, require)
}

// admitNew is the first half of a create, up to mutating admission. It alters the object, and returns the conditions for
// the commit.
func (a *attempt) admitNew(n *newObject) (require []store.Precondition, err error) {
	// Its size, and the metadata that a client cannot set.
	if err := a.isBounded(n.Object); err != nil {
		return nil, err
	}
	metadata, err := a.receiveNew(*n)
	if err != nil {
		return nil, err
	}
	if n.owners == beforeAdmission {
		dropDuplicateOwners(a.ctx, metadata, beforeAdmission)
	}

	// Field management.
	if !n.managed {
		if n.Decoded, err = a.manageFields(n.Decoded, resource.Decoded{}); err != nil {
			return nil, err
		}
		if metadata, err = meta.Accessor(n.Object); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	if err := a.inTime(); err != nil {
		return nil, err
	}

	// Mutating admission, and whether the user may grant what the object grants.
	admitted, err := a.mutatingAdmission(admission.Create, n.Object, nil)
	if err != nil {
		return nil, err
	}
	if n.owners == afterAdmission || admitted.replaced {
		dropDuplicateOwners(a.ctx, metadata, afterAdmission)
	}
	if a.unmanaged {
		metadata.SetManagedFields(nil)
	}
	if admitted.replaced {
		n.Decoded = resource.Decoded{Object: n.Object}
	}
	return admitted.require, a.mayWrite(n.Object, nil)
}

// storeNew is the second half of a create. It alters the object.
func (a attempt) storeNew(n newObject, require []store.Precondition) (result Result, err error) {
	metadata, err := meta.Accessor(n.Object)
	if err != nil {
		return Result{}, apierrors.NewInternalError(err)
	}

	// The metadata that the server sets.
	if err := a.fillMetadata(metadata, n); err != nil {
		return Result{}, err
	}

	// Allocation of cluster-wide values, then the kind's strategy, which prepares and validates the object.
	committed := false
	a.observe.Preparing(n.Object)
	done, err := a.allocate(n.Object, nil)
	if err != nil {
		return Result{}, err
	}
	defer func() { done(committed) }()
	err = a.prepareAndValidateCreate(&n.Decoded)
	a.observe.Prepared(a.ctx, n.Object, nil, err)
	if err != nil {
		return Result{}, err
	}
	if n.updates {
		if err := a.mayCreate(); err != nil {
			return Result{}, err
		}
	}

	// Validating admission.
	if err := a.validatingAdmission(admission.Create, n.Object, nil); err != nil {
		return Result{}, err
	}
	if err := a.inTime(); err != nil {
		return Result{}, err
	}

	// The commit. The storage of a real server rejects a resourceVersion, and a dry run does not
	// reach it.
	name := a.request.Name
	if !n.updates {
		name = metadata.GetName()
		if revision, err := (storage.APIObjectVersioner{}).ObjectResourceVersion(n.Object); err == nil && revision != 0 && !a.request.isDryRun() {
			return Result{}, storage.ErrResourceVersionSetOnCreate
		}
	}
	a.observe.Changed(n.Object, nil)
	result, err = a.commitCreate(name, n.Decoded, require)
	committed = err == nil
	return result, err
}

// takenError is the error of a create whose name is taken.
type takenError struct{ *apierrors.StatusError }

func (e *takenError) Unwrap() error { return e.StatusError }

// NameIsTaken reports whether a create failed because an object with its name exists. It returns false for an
// AlreadyExists error of an admission plugin.
func NameIsTaken(err error) bool {
	var taken *takenError
	return errors.As(err, &taken)
}

// alreadyExists returns the error for a name that is taken. The message mentions if the other object is being deleted.
func (a attempt) alreadyExists(e *store.ExistsError, generateName string) error {
	res := a.version.Resource
	err := apierrors.NewAlreadyExists(res.GroupResource(), res.NameOf(e.Key))
	if generateName != "" { // even if the object had a name, as upstream does
		err = apierrors.NewGenerateNameConflict(res.GroupResource(), res.NameOf(e.Key), 1)
	}
	if gjson.Get(e.Current.Value, "metadata.deletionTimestamp").Exists() {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return &takenError{err}
}

// receiveNew checks the metadata of an object to create. If the request is an update, its metadata has already been
// checked, and keeps fields that a client cannot set until after admission.
func (a *attempt) receiveNew(n newObject) (metav1.Object, error) {
	if !n.updates {
		return a.receive(n.Object, false)
	}
	metadata, err := meta.Accessor(n.Object)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return metadata, nil
}

// fillMetadata sets the metadata that the server generates. It overwrites what admission has set.
func (a attempt) fillMetadata(metadata metav1.Object, n newObject) error {
	if n.updates {
		if _, err := (storage.APIObjectVersioner{}).ObjectResourceVersion(n.Object); err != nil {
			return err
		}
		registryrest.WipeObjectMetaSystemFields(metadata)
	}
	metadata.SetCreationTimestamp(a.p.Now())
	metadata.SetUID(a.p.Random.UID())
	base := metadata.GetGenerateName()
	if n.updates || metadata.GetName() != "" || base == "" {
		return nil
	}
	name := a.p.Random.Name(base)
	if a.version.Strategy.GenerateName(base) == base {
		name = base // names of the kind have a meaning, as those of IPAddresses
	}
	metadata.SetName(name)
	return nil
}
