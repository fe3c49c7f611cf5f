package rest

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/write"
)

// act carries out an action, such as an eviction, with the object in the body.
func act(r *request) error {
	sent, options, err := r.receiveNew()
	if err != nil {
		return err
	}
	action := r.action()
	w := r.write(nil, write.Options{DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation})
	result, err := inTime(r, w, func(r *request, w *write.Request) (runtime.Object, error) {
		return r.cluster.Writes.Act(r.ctx, w, action, sent)
	})
	if err != nil {
		return err
	}
	status, ok := result.(*metav1.Status)
	if !ok {
		text, err := action.View.Codec.Encode(result)
		if err != nil {
			return err
		}
		return r.answer(http.StatusCreated, string(text))
	}
	if status.Status != metav1.StatusSuccess {
		return apierrors.FromObject(status)
	}
	status.Code = http.StatusCreated
	writeObject(r.w, r.http, http.StatusCreated, status)
	return nil
}
