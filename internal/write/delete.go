package write

import (
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// remove carries out a Delete. If a finalizer, content or a grace period delays the deletion, remove sets the
// deletionTimestamp, once. It alters the options of the attempt.
func (a attempt) remove() (Result, error) {
	options := a.deletion
	if ignore := options.IgnoreStoreReadErrorWithClusterBreakingPotential; ignore != nil && *ignore {
		return a.removeUnreadable()
	}
	record, current, err := a.loadOrNotFound()
	if a.endedElsewhere(current.Object, err) {
		return a.execution.marked, nil
	}
	if err != nil {
		return Result{}, view.Corrupt(a.version, a.request.Namespace, a.request.Name, err)
	}
	content := a.version.ContentFirst
	if a.request.Collection {
		// Upstream deletes a collection of definitions as objects of any other kind: it removes them at once and leaves
		// their objects, which reappear with the same definition.
		content = nil
	}
	if content != nil {
		if err := a.checkPreconditions(options.Preconditions, current.Object, content.Mismatch); err != nil {
			return Result{}, err
		}
		if err := requireUID(options, current.Object); err != nil {
			return Result{}, err
		}
	}
	obj := a.version.Codec.Copy(current.Object)
	graceful, pending, err := a.beforeDelete(obj, options)
	if err != nil {
		return Result{}, err
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return Result{}, err
	}
	if pending || content != nil && metadata.GetDeletionTimestamp() != nil && content.Remains(obj) {
		// The object is already being deleted. As upstream does, return the current object, without a write and without
		// admission.
		return a.result(record, obj)
	}
	require, err := a.admitDelete(current.Object)
	if err != nil {
		return Result{}, err
	}
	if content != nil && metadata.GetDeletionTimestamp() == nil {
		if content.DecidesDependents {
			metadata.SetFinalizers(namespaceFinalizers(metadata.GetFinalizers(), options))
		}
		content.Begin(obj, a.p.Now())
		return a.commitUpdate(record, resource.Decoded{Object: obj, Facts: current.Facts}, require)
	}
	finalizers := a.propagationFinalizers(metadata.GetFinalizers(), options)
	if !graceful && len(finalizers) == 0 {
		if len(metadata.GetFinalizers()) > 0 {
			if a.request.isDryRun() {
				return a.removeEmptied()
			}
			// Upstream skips an update that would remove the finalizers. Its removal is then admitted once more, and
			// compares a resourceVersion in the client's preconditions with that of an empty object.
			if p := options.Preconditions; p != nil && p.ResourceVersion != nil {
				return Result{}, a.invalidObject(a.version.Resource.KeyInEtcd(a.request.Namespace, a.request.Name), fmt.Sprintf(
					"Precondition failed: ResourceVersion in precondition: , ResourceVersion in object meta: %v", metadata.GetResourceVersion()))
			}
			if require, err = a.admitDelete(current.Object); err != nil {
				return Result{}, err
			}
		}
		return a.removeNow(record, obj, require)
	}
	metadata.SetFinalizers(finalizers)
	if !graceful {
		markAsDeleting(metadata, a.p.Now())
	}
	marked, err := a.put(record, resource.Decoded{Object: obj, Facts: current.Facts}, nil, require)
	if err != nil || len(finalizers) > 0 || *options.GracePeriodSeconds > 0 {
		return a.resultOf(marked, obj, err)
	}
	// Nothing delays the deletion. Still, upstream first writes that the deletion is graceful and over, and watchers see
	// that.
	if a.request.isDryRun() {
		result, err := a.result(marked, obj)
		result.Deleted = true
		return result, err
	}
	if require, err = a.admitDelete(obj); err != nil {
		return Result{}, err
	}
	if a.execution.marked, err = a.result(marked, obj); err != nil {
		return Result{}, err
	}
	a.execution.marked.Deleted = true
	return a.removeNow(marked, obj.DeepCopyObject(), require) // obj is shared by now
}

// requireUID adds the object's uid to the preconditions, as upstream's storages of Namespaces and definitions do before
// they call admission.
func requireUID(options *metav1.DeleteOptions, current runtime.Object) error {
	metadata, err := meta.Accessor(current)
	if err != nil {
		return err
	}
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	uid := metadata.GetUID()
	options.Preconditions.UID = &uid
	return nil
}

// endedElsewhere reports whether an earlier attempt of this request has set the deletionTimestamp, and another client,
// such as a kubelet, has removed the object since then. The delete then succeeds, as upstream. A new object with the
// name stays.
func (a attempt) endedElsewhere(current runtime.Object, err error) bool {
	marked := a.execution.marked.Object
	if marked == nil {
		return false
	}
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	before, wasErr := meta.Accessor(marked)
	after, isErr := meta.Accessor(current)
	return wasErr == nil && isErr == nil && before.GetUID() != after.GetUID()
}

// admitDelete calls admission for the deletion of an object. It does not alter the object. require has conditions that
// must hold when the deletion commits.
func (a attempt) admitDelete(obj runtime.Object) (require []store.Precondition, err error) {
	if !a.chain.Empty() {
		obj = obj.DeepCopyObject()
	}
	admitted, err := a.mutatingAdmission(admission.Delete, nil, obj)
	if err != nil {
		return nil, err
	}
	return admitted.require, a.validatingAdmission(admission.Delete, nil, obj)
}

// removeNow removes an object. It alters obj. The Result has the object at the revision of the removal.
func (a attempt) removeNow(record store.Record, obj runtime.Object, require []store.Precondition) (Result, error) {
	result, gone, err := a.drop(record, obj, require)
	if err != nil {
		return Result{}, err
	}
	result.Text = view.WithResourceVersion(result.Text, gone.Revision)
	metadata, err := meta.Accessor(result.Object)
	if err != nil {
		return Result{}, err
	}
	metadata.SetResourceVersion(strconv.FormatInt(gone.Revision, 10))
	return result, nil
}

// removeEmptied returns the Result of a dry run of a delete that removes the finalizers of an object and then the
// object. Upstream returns the object that its update would have filled in; a dry run leaves it empty.
func (a attempt) removeEmptied() (Result, error) {
	empty := a.version.Codec.New()
	text, err := a.version.Codec.Encode(empty)
	if err != nil {
		return Result{}, err
	}
	return Result{Text: string(text), Object: empty, Deleted: true, Shown: true}, nil
}

// markAsDeleting marks an object with finalizers as being deleted.
func markAsDeleting(metadata metav1.Object, now metav1.Time) {
	marked := metadata.GetDeletionTimestamp()
	if marked == nil && metadata.GetGeneration() > 0 {
		metadata.SetGeneration(metadata.GetGeneration() + 1)
	}
	if marked == nil || marked.After(now.Time) {
		metadata.SetDeletionTimestamp(&now)
	}
	var none int64
	metadata.SetDeletionGracePeriodSeconds(&none)
}
