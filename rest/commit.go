package rest

import (
	"errors"
	"unsafe"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// maxObjectBytes is the size above which etcd refuses an object.
const maxObjectBytes = 1536 * 1024

var (
	// errModified is the reason of every conflict over a resourceVersion.
	errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

	errTooLarge = errors.New("etcdserver: request is too large")
)

// commitCreate stores a new object that has been judged.
func (w *write) commitCreate(obj runtime.Object) (outcome, error) {
	text, err := w.encode(obj, 0)
	if err != nil {
		return outcome{}, err
	}
	record, err := w.store.Create(w.key(), w.toStore(text))
	var exists *store.ExistsError
	if errors.As(err, &exists) {
		return outcome{}, w.alreadyExists(exists)
	}
	if err != nil {
		return outcome{}, w.commitError(err)
	}
	w.remember(record, obj)
	w.react(lifecycle.Change{Record: record})
	return w.outcome(record, obj)
}

// remember spares the reader of a record that is costly to read.
func (w *write) remember(record store.Record, obj runtime.Object) {
	if metadata, err := meta.Accessor(obj); err == nil {
		metadata.SetResourceVersion(formatRevision(record.Revision))
		w.version.Resource.Storage.Codec.Remember(record, obj)
	}
}

// alreadyExists says that the name is taken, and whether it may soon be free.
func (w *write) alreadyExists(e *store.ExistsError) error {
	err := apierrors.NewAlreadyExists(w.version.Resource.GroupResource(), w.name)
	if gjson.Get(e.Current.Value, "metadata.deletionTimestamp").Exists() {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// commitUpdate stores the new state of an object, if it differs from the one
// that the record holds.
func (w *write) commitUpdate(record store.Record, obj runtime.Object) (outcome, error) {
	text, err := w.encode(obj, record.Revision)
	if err != nil {
		return outcome{}, err
	}
	if w.dryRun || text == record.Value {
		unchanged := record
		unchanged.Value, unchanged.Tag = text, w.version.Resource.Storage.Identity
		return w.outcome(unchanged, obj)
	}
	committed, err := w.store.Update(record.Key, record.Revision, w.toStore(text))
	if err != nil {
		return outcome{}, w.commitError(err)
	}
	w.remember(committed, obj)
	w.react(lifecycle.Change{Record: committed, Previous: record})
	return w.outcome(committed, obj)
}

// commitDelete removes an object. Watchers see it as it was last stored, at the
// revision of the removal; the client whose update led to it sees its update.
func (w *write) commitDelete(record store.Record, obj runtime.Object) (outcome, error) {
	out, err := w.outcomeOf(obj, record.Revision)
	if err != nil {
		return outcome{}, err
	}
	out.deleted = true
	if w.dryRun {
		return out, nil
	}
	last := record.Value
	gone, err := w.store.Delete(record.Key, record.Revision, store.Write{
		Make:    func(revision int64) string { return view.WithResourceVersion(last, revision) },
		Tag:     record.Tag,
		Index:   record.Index,
		Require: w.require,
	})
	if err != nil {
		return outcome{}, w.commitError(err)
	}
	w.react(lifecycle.Change{Record: gone, Previous: record, Deleted: true})
	return out, nil
}

// dryRunCreate answers as if obj had been created.
func (w *write) dryRunCreate(obj runtime.Object) (outcome, error) {
	current, err := w.store.Get(w.key())
	switch {
	case err == nil:
		return outcome{}, w.alreadyExists(&store.ExistsError{Key: current.Key, Current: current})
	case !errors.Is(err, store.ErrNotFound):
		return outcome{}, err
	}
	text, err := w.version.Codec.Encode(obj)
	return outcome{text: string(text), object: obj}, err
}

// encode is the one encoding of a write: the object in the storage version, with
// the given resourceVersion, for toStore to replace.
func (w *write) encode(obj runtime.Object, revision int64) (string, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return "", err
	}
	metadata.SetResourceVersion(formatRevision(revision))
	if metadata.GetSelfLink() != "" {
		metadata.SetSelfLink("") // a field that servers do not fill in any more
	}
	text, err := w.version.Resource.Storage.Codec.EncodeToStore(obj)
	if err != nil {
		return "", err
	}
	if len(text) > maxObjectBytes {
		return "", errTooLarge
	}
	return unsafe.String(unsafe.SliceData(text), len(text)), nil // nobody else has it
}

// toStore is the write of an encoded object.
func (w *write) toStore(text string) store.Write {
	return store.Write{
		Make:    func(revision int64) string { return view.WithResourceVersion(text, revision) },
		Tag:     w.version.Resource.Storage.Identity,
		Index:   view.Labels(text),
		Require: w.require,
	}
}

// commitError tells a conflict over the object, which the pipeline meets by
// judging again, from one over what it was judged by, which takes a new look at
// the catalogue.
func (w *write) commitError(err error) error {
	var precondition *store.PreconditionError
	if errors.As(err, &precondition) {
		return errOutdated
	}
	if errors.Is(err, store.ErrNotFound) {
		w.missing = true // it went while the write was judged: an apply creates it
		return apierrors.NewNotFound(w.version.Resource.GroupResource(), w.name)
	}
	return err
}

// outcome is what a write answers with, once the record is there.
func (w *write) outcome(record store.Record, obj runtime.Object) (outcome, error) {
	text, err := view.Text(w.version, record)
	return outcome{text: text, object: obj}, err
}

// outcomeOf is what a write answers with that leaves no record behind.
func (w *write) outcomeOf(obj runtime.Object, revision int64) (outcome, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return outcome{}, err
	}
	metadata.SetResourceVersion(formatRevision(revision))
	text, err := w.version.Codec.Encode(obj)
	return outcome{text: string(text), object: obj}, err
}

// react has the consequences of a commit carried out, even if the client goes
// away meanwhile. What they are warned of is not for the client.
func (w *write) react(change lifecycle.Change) {
	change.Resource = w.version.Resource
	change.Namespace, change.Name = w.namespace, w.name
	if change.Resource.Group == admissionGroup {
		if err := w.refreshChain(); err != nil {
			klog.ErrorS(err, "The configuration of admission cannot be read")
		}
	}
	w.reactor.React(detach(w.ctx), change)
}
