package write

import (
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// maxObjectBytes is the largest object that etcd accepts, and maxMessageBytes the largest message that its client sends.
const (
	maxObjectBytes  = 1536 * 1024
	maxMessageBytes = 2 * 1024 * 1024
)

// tooLargeError is the error of an object above maxObjectBytes. A real server states the size of its message to etcd,
// which includes the key.
type tooLargeError struct{ size int }

func (e *tooLargeError) Error() string {
	if e.size > maxMessageBytes {
		return fmt.Sprintf("rpc error: code = ResourceExhausted desc = trying to send message larger than max (%d vs. %d)", e.size, maxMessageBytes)
	}
	return "etcdserver: request is too large"
}

// unkeptError is the error of a write that could not be written to the store's file. It does not tell the client the
// path of the file.
type unkeptError struct{ *store.FileError }

func (e unkeptError) Unwrap() error { return e.FileError }

func (e unkeptError) Error() string {
	if e.Full() {
		return "etcdserver: mvcc: database space exceeded" // as a real server whose etcd is full
	}
	return "fakecluster cannot write to its data file: " + e.Err.Error() // etcd would end
}

// keeping returns the error of a commit in the form for clients.
func keeping(err error) error {
	var unkept *store.FileError
	if errors.As(err, &unkept) {
		return unkeptError{unkept}
	}
	return err
}

// commitCreate stores a new object that has been admitted and validated. It fails with a store.ExistsError if the name
// is taken.
func (a attempt) commitCreate(name string, obj resource.Decoded, require []store.Precondition) (Result, error) {
	key := a.version.Resource.Key(a.request.Namespace, name)
	uses := use{obj: obj.Object}
	charged, err := a.charge(uses)
	if err != nil {
		return Result{}, err
	}
	if a.request.isDryRun() {
		return a.dryRunCreate(key, obj.Object)
	}
	text, encoded, err := a.encode(obj, 0)
	if err != nil {
		return Result{}, err
	}
	record, charged, err := a.commitCharged(uses, charged, func(c Charge) (store.Record, error) {
		return a.p.Store.Create(key, c.commitWith(a.toStore(text, encoded.Filled, require)))
	})
	if err != nil {
		return Result{}, err
	}
	a.observe.Created(obj.Object)
	a.remember(record, obj, encoded.Stored)
	a.committed(charged.noted(Commit{Name: name, Record: record}))
	result, err := a.result(record, obj.Object)
	result.Created = true
	return result, err
}

// dryRunCreate returns the Result of a dry run of a create.
func (a attempt) dryRunCreate(key string, obj runtime.Object) (Result, error) {
	current, err := a.p.Store.Get(key)
	switch {
	case err == nil:
		return Result{}, &store.ExistsError{Key: key, Current: current}
	case !errors.Is(err, store.ErrNotFound):
		return Result{}, err
	}
	storage := a.version.Resource.Storage
	encoded, err := storage.Codec.EncodeToStore(resource.Decoded{Object: obj})
	if err != nil {
		return Result{}, err
	}
	result, err := a.result(store.Record{Key: key, Value: encoded.Text, Tag: storage.Identity}, obj)
	result.Created = true
	return result, err
}

// commitUpdate stores the new state of an object, if it differs from the record.
func (a attempt) commitUpdate(record store.Record, obj resource.Decoded, require []store.Precondition) (Result, error) {
	stored, err := a.put(record, obj, nil, require)
	return a.resultOf(stored, obj.Object, err)
}

// put is commitUpdate, but returns the new record of the object, which in a dry run is not in the store. The plugin
// ResourceQuota evaluates what the object uses beyond the current one; if current is nil, it does not evaluate the
// write.
func (a attempt) put(record store.Record, obj resource.Decoded, current runtime.Object, require []store.Precondition) (store.Record, error) {
	uses := use{obj: obj.Object, current: current, former: record}
	charged, err := a.charge(uses)
	if err != nil {
		return record, err
	}
	text, encoded, err := a.encode(obj, record.Revision)
	if err != nil {
		return record, err
	}
	same := text == record.Value && encoded.Filled == resource.Filled(record)
	if same {
		a.observe.Unchanged(obj.Object)
	}
	if a.request.isDryRun() || same {
		unchanged := record
		unchanged.Value, unchanged.Tag = text, a.version.Resource.Storage.Identity
		return unchanged, nil
	}
	done := func(committed store.Record) {
		a.remember(committed, obj, encoded.Stored)
		a.committed(charged.noted(Commit{Name: a.request.Name, Record: committed, Previous: record}))
	}
	if stage := a.execution.stage; stage != nil {
		w := a.toStore(text, encoded.Filled, nil)
		stage(store.Update{Key: record.Key, Revision: record.Revision, Make: w.Make, Tag: w.Tag, Index: w.Index, Committed: done})
		return record, nil
	}
	var committed store.Record
	committed, charged, err = a.commitCharged(uses, charged, func(c Charge) (store.Record, error) {
		return a.p.Store.Update(record.Key, record.Revision, c.commitWith(a.toStore(text, encoded.Filled, require)))
	})
	if err != nil {
		return record, err
	}
	done(committed)
	return committed, nil
}

// commitDelete removes an object. Watchers see it as it was last stored, at the
// revision of the removal; the client whose update led to it sees its update.
func (a attempt) commitDelete(record store.Record, obj runtime.Object, require []store.Precondition) (Result, error) {
	result, _, err := a.drop(record, obj, require)
	return result, err
}

// drop is commitDelete, but also returns the record that watchers see. In a dry run that is the current record.
func (a attempt) drop(record store.Record, obj runtime.Object, require []store.Precondition) (Result, store.Record, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return Result{}, record, err
	}
	metadata.SetResourceVersion(strconv.FormatInt(record.Revision, 10))
	text, err := a.version.Codec.Encode(obj)
	if err != nil {
		return Result{}, record, err
	}
	result := Result{Text: string(text), Object: obj, Deleted: true}
	if a.request.isDryRun() {
		return result, record, nil
	}
	if err := a.convertBack(obj); err != nil {
		return Result{}, record, err
	}
	gone, err := a.discard(record, require)
	if err != nil {
		return Result{}, record, err
	}
	return result, gone, nil
}

// convertBack fails if a webhook cannot convert the object to remove to the storage version. A real server converts it
// to compare the object from its cache with the stored one.
func (a attempt) convertBack(obj runtime.Object) error {
	if a.version.Conversions == nil || a.version == a.version.Resource.Storage {
		return nil
	}
	bare := obj.DeepCopyObject()
	_, err := a.version.Resource.Storage.Codec.Encode(bare)
	return err
}

// discard removes a record. Watchers see it as it was last stored, at the revision of the
// removal.
func (a attempt) discard(record store.Record, require []store.Precondition) (store.Record, error) {
	uses := use{former: record}
	charged, err := a.charge(uses)
	if err != nil {
		return record, err
	}
	gone, charged, err := a.commitCharged(uses, charged, func(c Charge) (store.Record, error) {
		return a.p.Store.Delete(record.Key, record.Revision, c.commitWith(store.Write{
			Make: func(revision int64) string {
				a.observe.Committed(revision)
				return view.WithResourceVersion(record.Value, revision)
			},
			Tag:     record.Tag,
			Index:   record.Index,
			Require: require,
		}))
	})
	if err != nil {
		return gone, err
	}
	a.release(record)
	a.committed(charged.noted(Commit{Name: a.request.Name, Record: gone, Previous: record, Deleted: true}))
	return gone, nil
}

// encode encodes the object in the storage version, once for each write, with the given resourceVersion, which toStore
// replaces. The text of encoded must not be altered.
func (a attempt) encode(obj resource.Decoded, revision int64) (text string, encoded resource.Encoded, err error) {
	metadata, err := meta.Accessor(obj.Object)
	if err != nil {
		return "", encoded, err
	}
	metadata.SetResourceVersion(strconv.FormatInt(revision, 10))
	if metadata.GetSelfLink() != "" && !a.request.isDryRun() {
		metadata.SetSelfLink("") // servers no longer set this field
	}
	if encoded, err = a.version.Resource.Storage.Codec.EncodeToStore(obj); err != nil {
		return "", encoded, err
	}
	size := len(encoded.Text)
	if size > maxObjectBytes {
		return "", encoded, &tooLargeError{size}
	}
	return encoded.Text, encoded, nil
}

// toStore returns the store's write of an encoded object.
func (a attempt) toStore(text string, filled bool, require []store.Precondition) store.Write {
	return store.Write{
		Make: func(revision int64) string {
			a.observe.Committed(revision)
			return view.WithResourceVersion(text, revision)
		},
		Tag:     a.version.Resource.Storage.Tag(filled),
		Index:   view.Labels(text),
		Require: require,
	}
}

// remember sets the resourceVersion of a committed object. If stored is what reading the record would return, it goes
// into the memory for the next write. Nothing may alter either of them afterwards.
func (a attempt) remember(record store.Record, obj resource.Decoded, stored resource.Decoded) {
	metadata, err := meta.Accessor(obj.Object)
	if err != nil {
		return
	}
	revision := strconv.FormatInt(record.Revision, 10)
	metadata.SetResourceVersion(revision)
	if stored.Object == nil {
		return
	}
	if metadata, err = meta.Accessor(stored.Object); err == nil { // stored may be a copy of the object
		metadata.SetResourceVersion(revision)
		a.p.Memory.Remember(a.version.Resource.Storage, record, stored)
	}
}

// result returns the Result of a write that has stored the object: the record in the version of the request.
func (a attempt) result(record store.Record, obj runtime.Object) (Result, error) {
	text, err := view.Text(a.version, record)
	if err != nil {
		return Result{Object: obj}, err
	}
	stored, _, err := a.p.Memory.Cached(a.version, record)
	return Result{Text: text, Object: obj, Stored: stored.Object}, err
}

// resultOf is result, but returns err if it is not nil.
func (a attempt) resultOf(record store.Record, obj runtime.Object, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	return a.result(record, obj)
}

// committed reports a commit to the server, with a context that the client does not cancel. The client does not get the
// warnings of further writes.
func (a attempt) committed(c Commit) {
	c.Resource, c.Namespace = a.version.Resource, a.request.Namespace
	a.execution.server.Committed(detach(a.ctx), c)
}
