package view

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Expired returns the error of the API for a revision that is older than the history.
func Expired(r *resource.Resource, err error) error {
	var compacted *store.CompactedError
	switch {
	case !errors.As(err, &compacted):
		return err
	case r.Uncached:
		return apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.")
	}
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", compacted.Requested, compacted.Oldest))
}
