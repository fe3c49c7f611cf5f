package write

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// load reads the current object in the version of the request. The object is shared, and the caller must not alter it.
// It fails with store.ErrNotFound if the object does not exist, and with a store.ConflictError if it does not have the
// Revision of the request.
func (a attempt) load() (store.Record, resource.Decoded, error) {
	record, err := a.p.Store.Get(a.version.Resource.Key(a.request.Namespace, a.request.Name))
	if err != nil {
		return record, resource.Decoded{}, err
	}
	if wanted := a.request.Revision; wanted != 0 && wanted != record.Revision {
		return record, resource.Decoded{}, &store.ConflictError{Key: record.Key, Current: record, Expected: wanted}
	}
	current, err := a.p.Memory.Decode(a.version, record)
	if err != nil && a.mayUseCache() {
		if text, ok := a.version.Conversions.Text(record); ok {
			obj, err := a.version.Codec.DecodeAs(text)
			return record, resource.Decoded{Object: obj}, err
		}
	}
	if err != nil && a.request.isDryRun() {
		err = view.Corrupt(a.version, a.request.Namespace, a.request.Name, err) // a dry run reads as a get does
	}
	return record, current, err
}

// mayUseCache reports whether a write may start from an earlier result of a conversion webhook. On a real server updates
// start from the watch cache, and a delete or a dry run reads the object from etcd.
func (a attempt) mayUseCache() bool {
	_, deletes := a.request.Change.(Delete)
	return a.version.Conversions != nil && !deletes && !a.request.isDryRun()
}

// notFound returns the error of a write whose object does not exist. err is the error of load; it is returned unchanged
// if the request has a Revision, so that Run fails with ErrObsolete.
func (a attempt) notFound(err error) error {
	if a.request.Revision != 0 {
		return err
	}
	return apierrors.NewNotFound(a.version.Resource.GroupResource(), a.request.Name)
}
