package rest

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// get answers with one object.
func get(r *request) error {
	var options metav1.GetOptions
	if err := r.parseQuery(&options); err != nil {
		return err
	}
	if err := view.NotInFuture(r.store, options.ResourceVersion); err != nil {
		return err
	}
	record, err := r.store.Get(r.key())
	if err != nil {
		return r.readError(err)
	}
	text, err := view.Text(r.version, record)
	if err != nil {
		return err
	}
	if text, err = r.project(text); err != nil {
		return err
	}
	return r.answer(http.StatusOK, text)
}

// readError puts a failed read into the words of the API.
func (r *request) readError(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return apierrors.NewNotFound(r.version.Resource.GroupResource(), r.info.Name)
	}
	return err
}
