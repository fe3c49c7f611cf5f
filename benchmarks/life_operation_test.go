package benchmarks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// The managers of an object: who owns its spec, its status, and the part that is
// applied.
const (
	user       = "user"
	controller = "controller"
	platform   = "platform"
)

// listed is how many objects a list has when it is measured.
const listed = 500

// side is the cluster or its floor, as the client of one kind sees it.
type side struct {
	dynamic.ResourceInterface
	// events is a watch, for the operation that waits for one.
	events <-chan watch.Event
}

// step is one turn of an operation at one side, the part that is timed. It returns the
// answer, if that is an object.
type step func(context.Context, side) (*unstructured.Unstructured, error)

// operation is something that a client does with an object.
type operation struct {
	name string
	// objects is how many stand before.
	objects int
	// watches says that there is a watch on each side.
	watches bool
	// next prepares a step. It may write to the cluster.
	next func(context.Context, *stand) (step, error)
	// changes says that the answer is the new state of the object that stands.
	changes bool
}

var operations = []operation{
	{name: "get", objects: 1, next: get},
	{name: "create", next: create},
	{name: "update", objects: 1, next: updateMetadata, changes: true},
	{name: "update-status", objects: 1, next: updateStatus, changes: true},
	{name: "merge-patch", objects: 1, next: mergePatch, changes: true},
	{name: "merge-patch-status", objects: 1, next: mergePatchStatus, changes: true},
	{name: "apply", objects: 1, next: apply, changes: true},
	{name: "delete-with-finalizer", next: deleteWithFinalizer},
	{name: "list", objects: listed, next: list},
	{name: "watch", objects: 1, next: patchAndWatch, changes: true, watches: true},
}

func get(_ context.Context, s *stand) (step, error) {
	name := s.current.GetName()
	return func(ctx context.Context, in side) (*unstructured.Unstructured, error) {
		return in.Get(ctx, name, metav1.GetOptions{})
	}, nil
}

func create(_ context.Context, s *stand) (step, error) {
	u := s.kind.object(nameOf(s.count()))
	return func(ctx context.Context, in side) (*unstructured.Unstructured, error) {
		return in.Create(ctx, u, metav1.CreateOptions{FieldManager: user})
	}, nil
}

// checked is an annotation of the user's that the update changes.
const checked = "example.com/checked"

// updateMetadata changes an annotation and sends the whole object.
func updateMetadata(_ context.Context, s *stand) (step, error) {
	u := s.current.DeepCopy()
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[checked] = fmt.Sprint(s.count())
	u.SetAnnotations(annotations)
	return func(ctx context.Context, in side) (*unstructured.Unstructured, error) {
		return in.Update(ctx, u, metav1.UpdateOptions{FieldManager: user})
	}, nil
}

// updateStatus sends the whole object with other conditions.
func updateStatus(_ context.Context, s *stand) (step, error) {
	u := s.kind.withNextStatus(s.current, s.count())
	return func(ctx context.Context, in side) (*unstructured.Unstructured, error) {
		return in.UpdateStatus(ctx, u, metav1.UpdateOptions{FieldManager: controller})
	}, nil
}

// mergePatch changes a field of the spec.
func mergePatch(_ context.Context, s *stand) (step, error) {
	patch, err := json.Marshal(fill(s.kind.Patch, "", s.count()))
	name := s.current.GetName()
	return func(ctx context.Context, in side) (*unstructured.Unstructured, error) {
		return in.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: user})
	}, err
}

// mergePatchStatus replaces the conditions, as patches that client.MergeFrom makes do.
func mergePatchStatus(_ context.Context, s *stand) (step, error) {
	patch, err := json.Marshal(map[string]any{"status": fill(s.kind.NextStatus, "", s.count())})
	name := s.current.GetName()
	return func(ctx context.Context, in side) (*unstructured.Unstructured, error) {
		return in.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: controller}, "status")
	}, err
}

// apply changes the fields that the third manager has applied before.
func apply(_ context.Context, s *stand) (step, error) {
	u := s.kind.applied(s.current.GetName(), s.count())
	return func(ctx context.Context, in side) (*unstructured.Unstructured, error) {
		return in.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: platform, Force: true})
	}, nil
}

// deleteWithFinalizer is two requests: the DELETE after which the object waits for its
// finalizer, and the patch that takes the finalizer away, with which the object goes.
func deleteWithFinalizer(ctx context.Context, s *stand) (step, error) {
	u, err := s.grow(ctx, nameOf(s.count()))
	if err != nil {
		return nil, err
	}
	if len(u.GetFinalizers()) == 0 { // the CronTab is created without
		u.SetFinalizers([]string{"example.com/finalizer"})
		if _, err := s.cluster.Update(ctx, u, metav1.UpdateOptions{FieldManager: user}); err != nil {
			return nil, err
		}
	}
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	return func(ctx context.Context, in side) (*unstructured.Unstructured, error) {
		if err := in.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); err != nil {
			return nil, err
		}
		return in.Patch(ctx, u.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: controller})
	}, nil
}

func list(_ context.Context, s *stand) (step, error) {
	return func(ctx context.Context, in side) (*unstructured.Unstructured, error) {
		l, err := in.List(ctx, metav1.ListOptions{})
		if err == nil && len(l.Items) != s.objects {
			err = fmt.Errorf("%d objects", len(l.Items))
		}
		return nil, err
	}, nil
}

// patchAndWatch is a merge patch, and the wait for a watcher to have the change.
func patchAndWatch(ctx context.Context, s *stand) (step, error) {
	patch, err := mergePatch(ctx, s)
	return func(ctx context.Context, in side) (*unstructured.Unstructured, error) {
		u, err := patch(ctx, in)
		if err != nil {
			return nil, err
		}
		select {
		case e := <-in.events:
			changed, _ := e.Object.(*unstructured.Unstructured)
			if e.Type != watch.Modified || changed == nil || changed.GetResourceVersion() != u.GetResourceVersion() {
				return nil, fmt.Errorf("the watch says %+v", e)
			}
		case <-time.After(time.Minute):
			return nil, apierrors.NewTimeoutError("the watch says nothing", 0)
		}
		return u, nil
	}, err
}
