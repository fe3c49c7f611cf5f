package rest

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// nameAttempts is how often a create tries another generated name when the one
// it made is taken.
const nameAttempts = 8

// review answers what the body asks.
func (r *request) review(obj runtime.Object) error {
	r.version.Review(r.ctx, obj)
	text, err := r.version.Codec.Encode(obj)
	if err != nil {
		return err
	}
	return r.answer(http.StatusCreated, string(text))
}

// create makes a new object of the body.
func (r *request) create() error {
	options := &metav1.CreateOptions{}
	if err := r.parseQuery(options); err != nil {
		return err
	}
	if errs := metav1validation.ValidateCreateOptions(options); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "CreateOptions"}, "", errs)
	}
	for attempt := 1; ; attempt++ {
		obj, err := r.decode(r.version, options.FieldValidation)
		if err != nil {
			return err
		}
		metadata, err := meta.Accessor(obj)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		if r.version.Review != nil {
			return r.review(obj)
		}
		generated := metadata.GetName() == "" && metadata.GetGenerateName() != ""
		w := r.write(options, len(options.DryRun) > 0, options.FieldManager)
		w.name = metadata.GetName()
		if r.info.Name != "" {
			w.name = r.info.Name
		}
		out, err := w.create(obj)
		if generated && apierrors.IsAlreadyExists(err) {
			if attempt < nameAttempts {
				continue
			}
			err = apierrors.NewGenerateNameConflict(r.version.Resource.GroupResource(), w.name, 1)
		}
		if err != nil {
			return err
		}
		return r.answer(http.StatusCreated, out.text)
	}
}
