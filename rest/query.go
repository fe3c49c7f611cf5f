package rest

import (
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// parseQuery reads the options of the verb from the query.
func (r *request) parseQuery(into runtime.Object) error {
	if r.http.URL.RawQuery == "" {
		return nil
	}
	return parseValues(r.http.URL.Query(), into)
}

func parseValues(values url.Values, into runtime.Object) error {
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(values, metav1.SchemeGroupVersion, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}
