package pod

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// isGone reports whether a write has failed because the pod no longer exists, or was created again.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
