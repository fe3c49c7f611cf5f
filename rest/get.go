package rest

import (
	"errors"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// get answers with one object.
func (r *request) get() error {
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

// key is the store key of the object that the path names.
func (r *request) key() string { return r.version.Resource.Key(r.namespace(), r.info.Name) }

// namespace is the namespace of the objects that the path names. The path of a
// namespace itself names it twice.
func (r *request) namespace() string {
	if !r.version.Resource.Namespaced {
		return ""
	}
	return r.info.Namespace
}

// parseQuery reads the options of the verb from the query.
func (r *request) parseQuery(into runtime.Object) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	return parseValues(r.URL.Query(), into)
}

func parseValues(values url.Values, into runtime.Object) error {
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(values, metav1.SchemeGroupVersion, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// readError puts a failed read into the words of the API.
func (r *request) readError(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return apierrors.NewNotFound(r.version.Resource.GroupResource(), r.info.Name)
	}
	return err
}
