package write

import (
	"errors"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// putDirectly carries out a Put.
func (a attempt) putDirectly(change Put) (Result, error) {
	record, current, err := a.loadOrNotFound()
	if err != nil {
		return Result{}, err
	}
	obj, err := change.Make(a.version.Codec.Copy(current.Object))
	if err != nil {
		return Result{}, err
	}
	return a.commitUpdate(record, resource.Decoded{Object: obj}, nil)
}

// dropDirectly carries out a Drop.
func (a attempt) dropDirectly(change Drop) (Result, error) {
	record, current, err := a.loadOrNotFound()
	if err != nil {
		return Result{}, err
	}
	if err := change.Check(current.Object); err != nil {
		return Result{}, err
	}
	return a.removeNow(record, a.version.Codec.Copy(current.Object), nil)
}

// loadOrNotFound is load, with the error for clients if the object does not exist.
func (a attempt) loadOrNotFound() (store.Record, resource.Decoded, error) {
	record, current, err := a.load()
	if errors.Is(err, store.ErrNotFound) {
		err = a.notFound(err)
	}
	return record, current, err
}
