package write

import (
	"errors"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// nameAttempts is the number of generated names that a create tries.
const nameAttempts = 8

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
