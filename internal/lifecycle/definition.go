package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/metadata"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

func groupOf(definition string) string { return gjson.Get(definition, "spec.group").Str }

func isTerminating(text string) bool { return metadata.Get(text, "deletionTimestamp").Exists() }

// judgeDefinition brings the names and conditions of a definition up to date. Then it notes
// that other definitions must be judged, because they may now get a name that this one gave up.
func (r *Reactor) judgeDefinition(ctx context.Context, name string) error {
	catalogue, err := r.server.Catalogue()
	if err != nil {
		return err
	}
	obj, was, err := r.server.Get(ctx, r.server.Definitions(), "", name)
	if err != nil {
		return err
	}
	definition := obj.(*apiextensions.CustomResourceDefinition)
	group := catalogue.Definitions(definition.Spec.Group)
	var others []resource.Names
	for _, d := range group {
		if d.Name != name {
			others = append(others, d.Accepted)
		}
	}
	if !crd.Judge(definition, others, r.server.Now()) {
		return nil
	}
	// The update fails if any definition has changed since the catalogue was read, so that
	// two definitions never get the same name.
	err = r.server.Update(ctx, r.server.Definitions(), "status", was, definition,
		store.Precondition{Key: r.server.Definitions().Prefix, Revision: catalogue.Revision, Prefix: true})
	if err != nil {
		return err
	}
	return r.judgeContested(ctx, definition.Spec.Group)
}

// judgeContested judges the definitions of a group that wait for a name.
func (r *Reactor) judgeContested(ctx context.Context, group string) error {
	catalogue, err := r.server.Catalogue()
	if err != nil {
		return err
	}
	list := ctx.Value(tasksKey{}).(*tasks)
	for _, d := range catalogue.Definitions(group) {
		if d.Contested {
			list.add(judgeDefinition, d.Name)
		}
	}
	return nil
}

// finishDefinition deletes the objects of a definition that is being deleted. When the last
// one is gone, it removes its finalizer, and the definition is gone. An object with
// finalizers of its own keeps the definition.
func (r *Reactor) finishDefinition(ctx context.Context, name string) error {
	definition, was, err := r.getDefinition(ctx, name)
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
		crd.SetCondition(definition, r.server.Now(), progress)
		if err := r.server.Update(ctx, r.server.Definitions(), "status", was, definition); err != nil {
			return err
		}
		if definition, was, err = r.getDefinition(ctx, name); err != nil {
			return err
		}
	}

	done := apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.Terminating, Status: apiextensions.ConditionFalse,
		Reason: "NeverEstablished", Message: "resource was never established",
	}
	if apiextensions.IsCRDConditionTrue(definition, apiextensions.Established) {
		catalogue, err := r.server.Catalogue()
		if err != nil {
			return err
		}
		var own []*resource.Resource
		if d := catalogue.Definition(name); d != nil && d.Resource != nil {
			own = append(own, d.Resource)
		}
		left, err := r.empty(ctx, own, "", r.server.DeleteInstance)
		if err != nil {
			return err
		}
		if err := utilerrors.NewAggregate(left.failed); err != nil {
			failed := progress
			failed.Reason, failed.Message = "InstanceDeletionFailed", fmt.Sprintf("could not issue all deletes: %v", err)
			if errors.As(left.failed[0], &unlistedError{}) {
				// A real server asks its cache, which cannot begin if a single object cannot be read.
				failed.Message = fmt.Sprintf("could not list instances: storage is (re)initializing: failed to list <unspecified>: %v", err)
			}
			crd.SetCondition(definition, r.server.Now(), failed)
			return r.server.Update(ctx, r.server.Definitions(), "status", was, definition)
		}
		if left.remains() {
			return nil // deleting the last object starts this step again
		}
		done.Reason, done.Message = "InstanceDeletionCompleted", "removed all instances"
	}
	if len(definition.Finalizers) == 1 {
		crd.SetCondition(definition, r.server.Now(), done)
	}
	// Otherwise a finalizer of somebody else keeps the definition. On a real server the clean-up
	// takes some seconds, in which clients see the definition terminating. Here it takes none,
	// so the condition stays until the definition is gone.
	apiextensions.CRDRemoveFinalizer(definition, apiextensions.CustomResourceCleanupFinalizer)
	return r.server.Update(ctx, r.server.Definitions(), "status", was, definition)
}

func (r *Reactor) getDefinition(ctx context.Context, name string) (*apiextensions.CustomResourceDefinition, store.Record, error) {
	obj, record, err := r.server.Get(ctx, r.server.Definitions(), "", name)
	if err != nil {
		return nil, record, err
	}
	return obj.(*apiextensions.CustomResourceDefinition), record, nil
}

func hasCondition(definition *apiextensions.CustomResourceDefinition, want apiextensions.CustomResourceDefinitionCondition) bool {
	have := apiextensions.FindCRDCondition(definition, want.Type)
	return have != nil && have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message
}
