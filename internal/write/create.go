package write

import (
	"errors"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// createNew carries out a Create: the name must be free.
func (a attempt) createNew(obj resource.Decoded) (Result, error) {
	metadata, err := meta.Accessor(obj.Object)
	if err != nil {
		return Result{}, apierrors.NewInternalError(err)
	}
	generated := metadata.GetName() == "" && metadata.GetGenerateName() != ""
	result, err := a.create(newObject{Decoded: obj, owners: beforeAdmission, unversioned: true})
	var exists *store.ExistsError
	if errors.As(err, &exists) {
		err = a.alreadyExists(exists)
	}
	if generated && apierrors.IsAlreadyExists(err) {
		err = &generatedNameError{err}
	}
	return result, err
}

// takenError is the error of a create whose name another object has.
type takenError struct{ *apierrors.StatusError }

func (e *takenError) Unwrap() error { return e.StatusError }

// NameIsTaken reports whether a create failed because an object of its name exists. It returns false for an
// AlreadyExists of admission.
func NameIsTaken(err error) bool {
	var taken *takenError
	return errors.As(err, &taken)
}

// alreadyExists returns the error of a name that is taken. The message says so if the other object is
// being deleted.
func (a attempt) alreadyExists(e *store.ExistsError) error {
	res := a.version.Resource
	err := apierrors.NewAlreadyExists(res.GroupResource(), res.NameOf(e.Key))
	if gjson.Get(e.Current.Value, "metadata.deletionTimestamp").Exists() {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return &takenError{err}
}
