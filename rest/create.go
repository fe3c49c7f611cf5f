package rest

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

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

// review answers the review in the body, such as a SubjectAccessReview.
func (r *request) review(options *metav1.CreateOptions) error {
	do := func() (runtime.Object, error) {
		sent, err := r.decode(r.version, options.FieldValidation)
		if err != nil {
			return nil, err
		}
		return r.cluster.Writes.Review(r.ctx, r.write(nil, write.Options{FieldManager: options.FieldManager}), sent.Object)
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
