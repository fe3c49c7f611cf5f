package rest

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/write"
)

// create makes a new object of the body.
func create(r *request) error {
	options := &metav1.CreateOptions{}
	if err := r.parseQuery(options); err != nil {
		return err
	}
	if errs := metav1validation.ValidateCreateOptions(options); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "CreateOptions"}, "", errs)
	}
	if r.version.Review != nil {
		return r.review(options)
	}
	return r.carryOut(r.write(write.Create{Object: r.source(options.FieldValidation)}, write.Options{
		DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation,
	}))
}

// review answers what the body asks. Admission is not asked about what is not stored.
func (r *request) review(options *metav1.CreateOptions) error {
	sent, err := r.decode(r.version, options.FieldValidation)
	if err != nil {
		return err
	}
	obj, err := r.writes.Manage(r.ctx, r.write(nil, write.Options{FieldManager: options.FieldManager}), sent.Object)
	if err != nil {
		return err
	}
	answered, err := r.version.Review(r.ctx, obj)
	if err != nil {
		return err
	}
	text, err := r.version.Codec.Encode(answered)
	if err != nil {
		return err
	}
	return r.answer(http.StatusCreated, string(text))
}
