package redact

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Error returns an error whose text may be shown. It wraps the given one, so that errors.As finds the Status
// that the server has sent.
func (r Request) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	shown := ""
	if answered := apierrors.APIStatus(nil); errors.As(err, &answered) && answered.Status().Message == text {
		status := answered.Status()
		_, shown = r.Status(&status)
	} else {
		shown = r.Text(text)
	}
	if shown == text {
		return err
	}
	return &shownError{err, shown}
}

type shownError struct {
	error
	shown string
}

func (e *shownError) Error() string { return e.shown }
func (e *shownError) Unwrap() error { return e.error }
