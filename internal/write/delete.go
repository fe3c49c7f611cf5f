package write

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/store"
)

// remove deletes an object. If a finalizer or content holds the object back, remove marks
// it as being deleted, once. It alters the options.
func (a attempt) remove(options *metav1.DeleteOptions) (Result, error) {
	record, current, err := a.load()
	if errors.Is(err, store.ErrNotFound) {
		return Result{}, a.notFound(err)
	}
	if err != nil {
		return Result{}, err
	}
	obj := a.version.Codec.Copy(current)
	if _, _, err := registryrest.BeforeDelete(a.version.Strategy, a.ctx, obj, options); err != nil {
		return Result{}, err
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return Result{}, err
	}
	content := a.version.ContentFirst
	if content != nil && metadata.GetDeletionTimestamp() != nil && content.Remains(obj) {
		// The deletion has begun and waits for the content. As upstream does, answer with
		// the object as it is, without a write and without admission.
		return a.result(record, obj)
	}
	asked := obj
	if !a.chain.Empty() {
		asked = obj.DeepCopyObject()
	}
	admitted, err := a.admit(admission.Delete, nil, asked)
	if err != nil {
		return Result{}, err
	}
	if err := a.validate(admission.Delete, nil, asked, admitted); err != nil {
		return Result{}, err
	}
	if content != nil && metadata.GetDeletionTimestamp() == nil {
		if content.SettlesDependents {
			metadata.SetFinalizers(propagationFinalizers(metadata.GetFinalizers(), options))
		}
		content.Begin(obj, a.p.Now())
		return a.commitUpdate(record, obj, admitted.require)
	}
	finalizers := propagationFinalizers(metadata.GetFinalizers(), options)
	if len(finalizers) == 0 {
		return a.commitDelete(record, obj, admitted.require)
	}
	metadata.SetFinalizers(finalizers)
	markAsDeleting(metadata, a.p.Now())
	return a.commitUpdate(record, obj, admitted.require)
}

// markAsDeleting stamps an object that finalizers hold back.
func markAsDeleting(metadata metav1.Object, now metav1.Time) {
	was := metadata.GetDeletionTimestamp()
	if was == nil && metadata.GetGeneration() > 0 {
		metadata.SetGeneration(metadata.GetGeneration() + 1)
	}
	if was == nil || was.After(now.Time) {
		metadata.SetDeletionTimestamp(&now)
	}
	var none int64
	metadata.SetDeletionGracePeriodSeconds(&none)
}
