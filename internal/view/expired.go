package view

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Expired puts a revision that the history does not reach back to into the words of the API.
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
