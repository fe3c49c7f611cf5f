package write

import (
	"errors"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// removeUnreadable deletes an object that cannot be decoded, for a client that has set
// ignoreStoreReadErrorWithClusterBreakingPotential. It skips admission, preconditions and finalizers. It fails for an
// object that can be decoded, also in a dry run.
func (a attempt) removeUnreadable() (Result, error) {
	record, err := a.p.Store.Get(a.version.Resource.Key(a.request.Namespace, a.request.Name))
	if errors.Is(err, store.ErrNotFound) {
		return Result{}, a.notFound(err)
	}
	if err != nil {
		return Result{}, err
	}
	_, err = a.version.Codec.DecodeStored(record)
	var corrupt *resource.CorruptError
	switch {
	case err == nil:
		return Result{}, a.invalidObject(a.version.Resource.KeyInEtcd(a.request.Namespace, a.request.Name), "unsafe deletion is not allowed because the object is decodable from storage")
	case !errors.As(err, &corrupt):
		return Result{}, err
	case a.request.isDryRun():
		return Result{Deleted: true}, nil
	}
	_, err = a.discard(record, a.unlessRedefined())
	return Result{Deleted: err == nil}, err
}
