package rest

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/store"
)

// delete removes an object, or begins to, if something holds it back.
func (r *request) delete() error {
	options, err := r.deleteOptions()
	if err != nil {
		return err
	}
	out, err := r.write(options, len(options.DryRun) > 0, "").remove(options)
	if err != nil {
		return err
	}
	if !out.deleted {
		code := http.StatusOK
		if orphan := orphanDependents(options); orphan != nil && !*orphan {
			code = http.StatusAccepted
		}
		return r.answer(code, out.text)
	}
	metadata, err := meta.Accessor(out.object)
	if err != nil {
		return err
	}
	writeObject(r.w, r.Request, http.StatusOK, &metav1.Status{
		Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			Name: metadata.GetName(), Group: r.version.Resource.Group, Kind: r.version.Resource.Names.Plural, UID: metadata.GetUID(),
		},
	})
	return nil
}

// deleteOptions come in the body or, without one, in the query.
func (r *request) deleteOptions() (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	body, err := r.readBody()
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		if err := r.parseQuery(options); err != nil {
			return nil, err
		}
	} else {
		info, err := negotiation.NegotiateInputSerializer(r.Request, false, metainternalversionscheme.Codecs)
		if err != nil {
			return nil, err
		}
		kind := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
		obj, _, err := metainternalversionscheme.Codecs.DecoderToVersion(info.Serializer, kind.GroupVersion()).Decode(body, &kind, options)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if obj != runtime.Object(options) {
			return nil, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
		}
		r.logObject(obj, metainternalversionscheme.Codecs)
	}
	options.IgnoreStoreReadErrorWithClusterBreakingPotential = nil
	if errs := metav1validation.ValidateDeleteOptions(options); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	return options, nil
}

// remove deletes an object if nothing holds it back; otherwise it marks the
// object as being deleted, once.
func (w *write) remove(options *metav1.DeleteOptions) (outcome, error) {
	for {
		out, err := w.removeOnce(options)
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return out, err
		}
	}
}

func (w *write) removeOnce(options *metav1.DeleteOptions) (outcome, error) {
	record, obj, err := w.load()
	if err != nil {
		return outcome{}, err
	}
	obj = w.version.Codec.Copy(obj) // what is read from the store is not altered
	if _, _, err := registryrest.BeforeDelete(w.version.Strategy, w.ctx, obj, options); err != nil {
		return outcome{}, err
	}
	content := w.version.ContentFirst
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return outcome{}, err
	}
	if content != nil && metadata.GetDeletionTimestamp() != nil && content.Remains(obj) {
		return w.outcome(record, obj) // there is nothing to do, and nobody to ask
	}
	asked := obj
	if !w.chain.Empty() {
		asked = obj.DeepCopyObject()
	}
	if err := w.admit(admission.Delete, nil, asked); err != nil {
		return outcome{}, err
	}
	if err := w.validate(admission.Delete, nil, asked); err != nil {
		return outcome{}, err
	}
	if content != nil && metadata.GetDeletionTimestamp() == nil {
		if content.SettlesDependents {
			metadata.SetFinalizers(propagationFinalizers(metadata.GetFinalizers(), options))
		}
		content.Begin(obj, w.now())
		return w.commitUpdate(record, obj)
	}
	finalizers := propagationFinalizers(metadata.GetFinalizers(), options)
	if len(finalizers) == 0 {
		return w.commitDelete(record, obj)
	}
	metadata.SetFinalizers(finalizers)
	markAsDeleting(metadata, w.now())
	return w.commitUpdate(record, obj)
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
