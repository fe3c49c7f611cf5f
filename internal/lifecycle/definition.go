package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

func groupOf(definition string) string { return gjson.Get(definition, "spec.group").Str }

func isTerminating(text string) bool { return gjson.Get(text, "metadata.deletionTimestamp").Exists() }

// judgeDefinition brings the names and conditions of a definition up to date,
// then those of others that may now have a name it gave up.
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
	// Names are accepted only as long as no definition has changed since the
	// catalogue was read: two definitions never get the same name.
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

// finishDefinition deletes the objects of a definition that is being deleted
// and, once they are gone, lets it go. Finalizers on the objects hold it back.
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
		left, err := r.deleteObjects(ctx, catalogue.Definition(name))
		if errors.Is(err, ErrConflict) {
			return err
		}
		if err != nil {
			failed := progress
			failed.Reason, failed.Message = "InstanceDeletionFailed", fmt.Sprintf("could not issue all deletes: %v", err)
			crd.SetCondition(definition, r.server.Now(), failed)
			return r.server.Update(ctx, r.server.Definitions(), "status", was, definition)
		}
		if left > 0 {
			return nil // the delete of the last one brings us back
		}
		done.Reason, done.Message = "InstanceDeletionCompleted", "removed all instances"
	}
	if len(definition.Finalizers) > 1 {
		// Somebody else's finalizer keeps it. On a real server the end of the
		// clean-up comes some time later, so that clients see the definition
		// terminating; here it comes when nothing else is left to wait for.
		return nil
	}
	crd.SetCondition(definition, r.server.Now(), done)
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

// deleteObjects deletes the objects of a definition, and returns how many remain
// because something holds them back.
func (r *Reactor) deleteObjects(ctx context.Context, d *resource.Definition) (left int, err error) {
	if d == nil || d.Resource == nil {
		return 0, nil
	}
	return r.deleteAll(ctx, d.Resource, "", r.server.DeleteInstance)
}

// deleteAll deletes all objects of a resource, in one namespace or all, and
// returns how many remain. Those that are being deleted already are left alone.
func (r *Reactor) deleteAll(ctx context.Context, res *resource.Resource, namespace string,
	deleteOne func(ctx context.Context, r *resource.Resource, namespace, name string) error) (left int, err error) {
	records, err := r.server.List(res, namespace)
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, record := range records {
		if isTerminating(record.Value) {
			continue
		}
		ns, name := gjson.Get(record.Value, "metadata.namespace").Str, gjson.Get(record.Value, "metadata.name").Str
		if err := deleteOne(ctx, res, ns, name); err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, err)
		}
	}
	if err := utilerrors.NewAggregate(failed); err != nil {
		return 0, err
	}
	records, err = r.server.List(res, namespace)
	return len(records), err
}
