package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/aggregation"
	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/internal/quota"
	"github.com/fakecluster/fakecluster/internal/redact"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// reactions implements lifecycle.Server: it reads and writes what the reactor wants.
type reactions struct {
	state
	quota     *quota.Quotas
	own       *ownWrites
	aggregate *aggregation.Registry
	tell      func(message string)
}

var _ lifecycle.Server = reactions{}

// Tell implements lifecycle.Server.
func (r reactions) Tell(reaction, name string, err error) {
	r.tell(fmt.Sprintf("fakecluster: %s %s: %v; the next related write tries again", reaction, name, redact.Request{}.Error(err)))
}

func (r reactions) Catalogue() (*resource.Catalogue, error) { return r.catalogue.fresh() }

func (r reactions) Namespaces() *resource.Resource  { return r.namespaces }
func (r reactions) Definitions() *resource.Resource { return r.catalogue.definitions }
func (r reactions) Quotas() *resource.Resource      { return r.quota.Resource }
func (r reactions) Quota() lifecycle.Measurer       { return r.quota }
func (r reactions) Now() metav1.Time                { return r.now() }
func (r reactions) Revision() int64                 { return r.store.Revision() }

func (r reactions) Get(_ context.Context, res *resource.Resource, namespace, name string) (runtime.Object, store.Record, error) {
	v := written(res)
	obj, record, err := r.read(v, namespace, name)
	if err != nil {
		return nil, record, err
	}
	obj = v.Codec.Copy(obj)
	if res != r.catalogue.definitions { // whose internal type the reactor works on
		// The reactor knows the types of clients, whatever the store has.
		obj, err = preferred(res).External(obj)
	}
	return obj, record, err
}

func (r reactions) List(res *resource.Resource, namespace string) ([]store.Record, error) {
	list, err := r.store.List(res.PrefixOf(namespace), store.ListOptions{})
	return list.Records, err
}

func (r reactions) Readable(res *resource.Resource, records []store.Record) error {
	texts := view.NewTexts(res.Storage)
	texts.Expect(len(records))
	for _, record := range records {
		texts.Add(record)
	}
	_, err := texts.All()
	return err
}

// Ignores tells whether the garbage collector ignores an object: Events, which the
// collector of a real server does not watch either.
func (r reactions) Ignores(key string) bool {
	events := r.catalogue.Load().Resource("", "events")
	return events != nil && strings.HasPrefix(key, events.Prefix)
}

func (r reactions) Read(key string) (store.Record, error) { return r.store.Get(key) }
func (r reactions) All() (store.List, error)              { return r.store.List("", store.ListOptions{}) }

func (r reactions) Watch(after int64) (*store.Cursor, error) { return r.store.Watch("", after) }

func (r reactions) Update(ctx context.Context, res *resource.Resource, subresource string, was store.Record, obj runtime.Object, require ...store.Precondition) error {
	by := r.keeperOf(res)
	w := by.write(res, res.NamespaceOf(was.Key), res.NameOf(was.Key))
	w.Subresource, w.Revision, w.Require = subresource, was.Revision, require
	// Definitions are large, so no copy is made. With a revision the write is tried once; only an object
	// that is too large is tried again, without its managedFields.
	w.Change = write.Replace{Object: source(func() runtime.Object { return obj })}
	return r.own.carryOut(ctx, by, "update", w)
}

func (r reactions) ApplyStatus(ctx context.Context, res *resource.Resource, was store.Record, status *unstructured.Unstructured, manager string) error {
	by := r.keeperOf(res)
	if res == r.catalogue.definitions {
		by = migrator // the server itself does not apply to definitions
	}
	w := by.write(res, res.NamespaceOf(was.Key), res.NameOf(was.Key))
	w.Subresource, w.Revision, w.Manager = "status", was.Revision, manager
	status.SetGroupVersionKind(w.Version.Kind())
	status.SetNamespace(w.Namespace)
	status.SetName(w.Name)
	body, err := json.Marshal(status)
	if err != nil {
		return err
	}
	w.Change = write.Apply{Body: body, Force: true, Validation: metav1.FieldValidationIgnore}
	return r.own.carryOut(ctx, by, "patch", w)
}

func (r reactions) Rewrite(ctx context.Context, res *resource.Resource, record store.Record) error {
	w := migrator.write(res, res.NamespaceOf(record.Key), res.NameOf(record.Key))
	apiVersion, kind := w.Version.Kind().ToAPIVersionAndKind()
	body, err := json.Marshal(map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]string{"resourceVersion": formatRevision(record.Revision)},
	})
	if err != nil {
		return err
	}
	w.Manager = "storage-version-migrator-controller"
	w.Change = write.Patch{Type: types.MergePatchType, Body: body, Validation: metav1.FieldValidationIgnore}
	return r.own.carryOut(ctx, migrator, "patch", w)
}

func (r reactions) DeleteContent(ctx context.Context, res *resource.Resource, namespace, name string) error {
	w := namespaceController.write(res, namespace, name)
	policy := metav1.DeletePropagationBackground
	w.Change = write.Delete{Options: &metav1.DeleteOptions{PropagationPolicy: &policy}}
	w.Collection, w.SettlesLater = true, true
	return r.own.carryOut(ctx, namespaceController, "delete", w)
}

func (r reactions) DeleteInstance(ctx context.Context, res *resource.Resource, namespace, name string) error {
	by := r.keeperOf(res)
	w := by.write(res, namespace, name)
	w.Change = write.Delete{Options: &metav1.DeleteOptions{}}
	w.SkipAdmission, w.SettlesLater = true, true
	return r.own.carryOut(ctx, by, "delete", w)
}

func (r reactions) Amend(ctx context.Context, res *resource.Resource, was store.Record, change func(metav1.Object)) error {
	w := garbageCollector.write(res, res.NamespaceOf(was.Key), res.NameOf(was.Key))
	current, err := r.memory.Decode(w.Version, was)
	if err != nil {
		return err
	}
	body, err := metadataPatch(w.Version.Codec.Copy(current.Object), change)
	if err != nil {
		return err
	}
	w.Revision = was.Revision
	w.Change = write.Patch{Type: types.MergePatchType, Body: body, Validation: metav1.FieldValidationIgnore}
	return r.own.carryOut(ctx, garbageCollector, "patch", w)
}

// metadataPatch makes a merge patch of what a change does to the finalizers and owners of
// an object, which it alters.
func metadataPatch(obj runtime.Object, change func(metav1.Object)) ([]byte, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	finalizers, owners := slices.Clone(metadata.GetFinalizers()), slices.Clone(metadata.GetOwnerReferences())
	change(metadata)
	patch := map[string]any{"resourceVersion": metadata.GetResourceVersion()}
	if is := metadata.GetFinalizers(); !slices.Equal(is, finalizers) {
		patch["finalizers"] = orNull(is)
	}
	if is := metadata.GetOwnerReferences(); !equality.Semantic.DeepEqual(is, owners) {
		patch["ownerReferences"] = orNull(is)
	}
	return json.Marshal(map[string]any{"metadata": patch})
}

// orNull returns a list, or the null that removes an empty one.
func orNull[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

func (r reactions) Collect(ctx context.Context, res *resource.Resource, was store.Record, policy metav1.DeletionPropagation) error {
	w := garbageCollector.write(res, res.NamespaceOf(was.Key), res.NameOf(was.Key))
	uid, revision := types.UID(gjson.Get(was.Value, "metadata.uid").Str), formatRevision(was.Revision)
	w.Revision = was.Revision
	w.Change = write.Delete{Options: &metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &revision}, PropagationPolicy: &policy,
	}}
	return r.own.carryOut(ctx, garbageCollector, "delete", w)
}

func (r reactions) Create(ctx context.Context, res *resource.Resource, obj runtime.Object) error {
	err := r.own.create(ctx, res, "", obj)
	if write.NameIsTaken(err) {
		err = fmt.Errorf("%w: %w", lifecycle.ErrConflict, err)
	}
	return err
}

func (r reactions) Delete(ctx context.Context, res *resource.Resource, was store.Record) error {
	w := apiServer.write(res, res.NamespaceOf(was.Key), res.NameOf(was.Key))
	uid := types.UID(gjson.Get(was.Value, "metadata.uid").Str)
	w.Revision = was.Revision
	w.Change = write.Delete{Options: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}}
	return r.own.carryOut(ctx, apiServer, "delete", w)
}

func (r reactions) Available(ctx context.Context, a *apiregistrationv1.APIService) apiregistrationv1.APIServiceCondition {
	return r.aggregate.CheckAvailable(ctx, a)
}

func (r reactions) APIServicesOf(namespace, service string) []string {
	return r.aggregate.Of(namespace, service)
}

// formatRevision is a revision as a resourceVersion.
func formatRevision(revision int64) string { return strconv.FormatInt(revision, 10) }
