package controller

import (
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// definitionFinalizer deletes the objects of a definition that is being deleted. After the last one it removes its
// finalizer from the definition. An object with finalizers delays that.
func definitionFinalizer() *controller {
	return &controller{
		identity: APIServer,
		follows: []followed{
			{kind: definitions, concerns: func(s *step, c change) error {
				if !c.Deleted && isDeleting(c.Record.Value) {
					s.enqueue(c.key())
				}
				return nil
			}},
			{kind: anyKind, concerns: func(s *step, c change) error {
				if c.Deleted && c.Resource.Terminating {
					v, err := s.version(definitions)
					if err != nil {
						return err
					}
					s.enqueue(key{name: v.Resource.NameOf(c.Resource.Definition.Key)})
				}
				return nil
			}},
		},
		resume: func(s *step, _ int64) error {
			registry, err := s.server.Registry()
			if err != nil {
				return err
			}
			for _, d := range registry.Definitions("*") {
				if d.Terminating {
					s.enqueue(key{name: d.Name})
				}
			}
			return nil
		},
		sync: syncDeletedDefinition,
	}
}

// instance is the delete of an object of a definition. Admission does not get it, because a real server deletes
// such objects from the storage.
var instance = write.Request{Change: write.Delete{Options: &metav1.DeleteOptions{}}, SkipAdmission: true, MeasuresQuotaLater: true}

func syncDeletedDefinition(s *step, k key) error {
	definition, err := s.definition(k.name)
	if err != nil {
		return err
	}
	if definition.DeletionTimestamp == nil || !apiextensions.CRDHasFinalizer(definition, apiextensions.CustomResourceCleanupFinalizer) {
		return nil
	}
	progress := apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.Terminating, Status: apiextensions.ConditionTrue,
		Reason: "InstanceDeletionInProgress", Message: "CustomResource deletion is in progress",
	}
	if !hasCondition(definition, progress) {
		crd.SetCondition(definition, metav1.NewTime(s.now()), progress)
		if err := s.update(definitions, definition, "status"); err != nil {
			return err
		}
		if definition, err = s.definition(k.name); err != nil {
			return err
		}
	}

	done := apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.Terminating, Status: apiextensions.ConditionFalse,
		Reason: "NeverEstablished", Message: "resource was never established",
	}
	if apiextensions.IsCRDConditionTrue(definition, apiextensions.Established) {
		registry, err := s.server.Registry()
		if err != nil {
			return err
		}
		var own []*resource.Resource
		if d := registry.Definition(k.name); d != nil && d.Resource != nil {
			own = append(own, d.Resource)
		}
		left, err := s.empty(own, "", instance)
		if err != nil {
			return err
		}
		if err := utilerrors.NewAggregate(left.failed); err != nil {
			failed := progress
			failed.Reason, failed.Message = "InstanceDeletionFailed", fmt.Sprintf("could not issue all deletes: %v", err)
			if errors.As(left.failed[0], &unlistedError{}) {
				// A real server reads its watch cache, which does not start if any object cannot be read.
				failed.Message = fmt.Sprintf("could not list instances: storage is (re)initializing: failed to list <unspecified>: %v", err)
			}
			crd.SetCondition(definition, metav1.NewTime(s.now()), failed)
			return s.update(definitions, definition, "status")
		}
		if left.remains() {
			return nil // the deletion of the last object enqueues the definition again
		}
		done.Reason, done.Message = "InstanceDeletionCompleted", "removed all instances"
	}
	if len(definition.Finalizers) == 1 {
		crd.SetCondition(definition, metav1.NewTime(s.now()), done)
	}
	// Otherwise another finalizer keeps the definition. On a real server the cleanup takes some seconds, in which
	// clients see the definition terminating. Here it takes no time, so the condition stays until the definition is
	// gone.
	apiextensions.CRDRemoveFinalizer(definition, apiextensions.CustomResourceCleanupFinalizer)
	return s.update(definitions, definition, "status")
}
