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
	sent, options, err := r.receiveNew()
	if err != nil {
		return err
	}
	if r.version.Unstored.Review != nil {
		return r.review(sent, options)
	}
	return r.carryOut(r.write(write.Create{Object: sent}, write.Options{
		DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation,
	}))
}

// receiveNew returns the object in the body of a create and the options. As on a real server, errors in the options come
// after those in the media type and in reading the body; for an update it is the other way round.
func (r *request) receiveNew() (*write.Sent, *metav1.CreateOptions, error) {
	sent, err := r.receive("")
	if err != nil {
		return nil, nil, err
	}
	options, err := r.createOptions()
	if err != nil {
		return nil, nil, err
	}
	sent.Validation = options.FieldValidation
	return sent, options, nil
}

// review answers the review in the body, such as a SubjectAccessReview.
func (r *request) review(sent *write.Sent, options *metav1.CreateOptions) error {
	w := r.write(nil, write.Options{FieldManager: options.FieldManager})
	answered, err := inTime(r, w, func(r *request, w *write.Request) (runtime.Object, error) {
		return r.cluster.Writes.Review(r.ctx, w, sent)
	})
	if err != nil {
		return err
	}
	text, err := r.version.Codec.Encode(answered)
	if err != nil {
		return err
	}
	return r.answer(http.StatusCreated, string(text))
}
