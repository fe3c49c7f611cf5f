package pod

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// isGone reports whether a write has failed because the pod does not exist any more, or is another one of the same
// name.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
