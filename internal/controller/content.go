package controller

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/fakecluster/fakecluster/internal/metadata"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// content is what remains after emptying a namespace or a definition.
type content struct {
	resources  map[string]int // number of remaining objects by resource, such as widgets.example.com
	finalizers map[string]int // number of remaining objects by finalizer
	failed     []error        // errors of deletes, one for each resource
	waits      bool           // other objects must be gone before the rest can be deleted
}

func (c content) remains() bool { return len(c.resources) > 0 || len(c.failed) > 0 || c.waits }

// unlistedError is the error if the objects of a resource cannot be listed.
type unlistedError struct{ error }

func (e unlistedError) Unwrap() error { return e.error }

// empty deletes the objects of resources with the request w, in a namespace; empty: in all. It skips objects whose
// deletion waits, and all objects of a resource if one of them cannot be read. It fails with errConflict if another
// writer was faster.
func (s *step) empty(resources []*resource.Resource, namespace string, w write.Request) (content, error) {
	left := content{resources: map[string]int{}, finalizers: map[string]int{}}
	for _, res := range resources {
		records, err := s.records(res, namespace)
		if err != nil {
			return left, err
		}
		if len(records) == 0 {
			continue
		}
		if err := readable(res, records); err != nil {
			left.failed = append(left.failed, unlistedError{err})
			continue
		}
		var failed []error
		for _, record := range records {
			if err := s.controllers.ended(); err != nil {
				return left, err
			}
			if deletionWaits(record.Value) {
				continue
			}
			if err := s.write("delete", s.controller.identity.Version(res), res.NamespaceOf(record.Key), res.NameOf(record.Key), w); err != nil && !apierrors.IsNotFound(err) {
				failed = append(failed, err)
			}
		}
		if err := utilerrors.NewAggregate(failed); errors.Is(err, errConflict) {
			return left, err
		} else if err != nil {
			left.failed = append(left.failed, err)
			continue // a real controller does not count the remaining objects then
		}
		if records, err = s.records(res, namespace); err != nil {
			return left, err
		}
		if len(records) > 0 {
			left.resources[res.Names.Plural+"."+res.Group] = len(records)
		}
		for _, record := range records {
			for _, finalizer := range metadata.Get(record.Value, "finalizers").Array() {
				left.finalizers[finalizer.Str]++
			}
		}
	}
	return left, nil
}

// deletionWaits reports whether an object is being deleted and waits for finalizers or for the end of its grace period. An
// object that waits for neither has been left between the two writes of its deletion; another delete removes it, as
// upstream (rest.BeforeDelete).
func deletionWaits(text string) bool {
	return isDeleting(text) && (metadata.Get(text, "finalizers.0").Exists() || metadata.Get(text, "deletionGracePeriodSeconds").Int() > 0)
}

// readable returns an error if a record of a resource cannot be listed in its storage version.
func readable(res *resource.Resource, records []store.Record) error {
	texts := view.NewTexts(res.Storage)
	texts.Expect(len(records))
	for _, record := range records {
		texts.Add(record)
	}
	_, err := texts.All()
	return err
}
