package rest

import (
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/server"
)

// unsupportedError is the error of a request that a real server would serve and this one does not.
type unsupportedError struct{ message string }

func (e *unsupportedError) Error() string { return e.message }

// Status implements apierrors.APIStatus.
func (e *unsupportedError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: "NotImplemented", Message: e.message}
}

// unsupportedPaths are paths outside the API that a real server has, with the reason why this one
// does not.
var unsupportedPaths = map[string]string{
	"debug/flags":                     "the verbosity of logs is that of the process, which is the test's",
	"debug/api_priority_and_fairness": "no request waits in a queue",
}

// reportUnsupported logs an unsupportedError, once for each message. It ignores other errors.
func reportUnsupported(to *server.Messages, err error) {
	if err == nil {
		return
	}
	var missing *unsupportedError // on the heap
	if errors.As(err, &missing) {
		to.Once(missing.message)
	}
}
