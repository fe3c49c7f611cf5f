package rest

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/write"
)

// create creates the object in the body.
func create(r *request) error {
	if r.version.Unstored.Action != nil {
		return act(r)
	}
	options, err := r.createOptions()
	if err != nil {
		return err
	}
	if r.version.Unstored.Review != nil {
		return r.review(options)
	}
	return r.carryOut(r.write(write.Create{Object: r.source(options.FieldValidation)}, write.Options{
		DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation,
	}))
}

// createOptions reads and checks the options of a create.
func (r *request) createOptions() (*metav1.CreateOptions, error) {
	options := &metav1.CreateOptions{}
	if err := r.parseQuery(options); err != nil {
		return nil, err
	}
	if errs := metav1validation.ValidateCreateOptions(options); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "CreateOptions"}, "", errs)
	}
	return options, nil
}

// review answers the review in the body, such as a SubjectAccessReview.
func (r *request) review(options *metav1.CreateOptions) error {
	do := func() (runtime.Object, error) {
		sent, err := r.decode(r.version, options.FieldValidation)
		if err != nil {
			return nil, err
		}
		return r.writes.Review(r.ctx, r.write(nil, write.Options{FieldManager: options.FieldManager}), sent.Object)
	}
	var answered runtime.Object
	var err error
	if r.hasLargeBody() {
		answered, err = computeSent(r, do)
	} else {
		answered, err = do()
	}
	if err != nil {
		return err
	}
	text, err := r.version.Codec.Encode(answered)
	if err != nil {
		return err
	}
	return r.answer(http.StatusCreated, string(text))
}
