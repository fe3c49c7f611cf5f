package view

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
)

// Status returns the Status that a client gets for an error. Wrapped errors keep their Status; any other is a 500 with
// the error's text.
func Status(err error) *metav1.Status {
	var withStatus interface {
		error
		apierrors.APIStatus
	}
	if errors.As(err, &withStatus) {
		status := responsewriters.ErrorToAPIStatus(withStatus)
		if status.Code < 100 || status.Code > 999 {
			// A webhook may deny with any number. net/http panics if a code does not have three digits.
			status.Code = http.StatusInternalServerError
		}
		return status
	}
	// Not upstream's function, which reports such errors to a handler of the process that sleeps.
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     http.StatusInternalServerError,
		Message:  err.Error(),
	}
}
