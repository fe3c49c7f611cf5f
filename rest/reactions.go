package rest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// reactions is the server as package lifecycle sees it.
type reactions struct{ *Server }

// controllerManager is who owns the fields that reactions set.
const controllerManager = "kube-apiserver"

// controller is who makes the writes that follow from others.
var controller = &user.DefaultInfo{
	Name:   "system:apiserver",
	Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
}

// garbageCollector is who collects garbage, in a program of its own.
var garbageCollector = &user.DefaultInfo{
	Name:   "system:serviceaccount:kube-system:generic-garbage-collector",
	Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", user.AllAuthenticated},
}

// namespaceController is who empties namespaces, in the same program.
var namespaceController = &user.DefaultInfo{
	Name:   "system:serviceaccount:kube-system:namespace-controller",
	Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", user.AllAuthenticated},
}

const controllersManager = "kube-controller-manager"

func (r reactions) Catalogue() (*resource.Catalogue, error) {
	err := r.refresh()
	return r.catalogue.Load(), err
}

func (r reactions) Namespaces() *resource.Resource  { return r.namespaces }
func (r reactions) Definitions() *resource.Resource { return r.definitions }
func (r reactions) Now() metav1.Time                { return r.now() }
func (r reactions) Revision() int64                 { return r.store.Revision() }

func (r reactions) Get(ctx context.Context, res *resource.Resource, namespace, name string) (runtime.Object, store.Record, error) {
	w := r.write(ctx, res, namespace, name)
	record, obj, err := w.load()
	if err != nil {
		return nil, record, err
	}
	return res.Storage.Codec.Copy(obj), record, nil
}

func (r reactions) List(res *resource.Resource, namespace string) ([]store.Record, error) {
	list, err := r.store.List(res.PrefixOf(namespace), store.ListOptions{})
	return list.Records, err
}

func (r reactions) Update(ctx context.Context, res *resource.Resource, subresource string, was store.Record, obj runtime.Object, require ...store.Precondition) error {
	w := r.write(ctx, res, res.NamespaceOf(was.Key), res.NameOf(was.Key))
	w.subresource = subresource
	w.always = require
	finish := r.audited(w, "update")
	_, err := w.updateOnce(func(runtime.Object) (runtime.Object, error) { return obj, nil })
	err = w.unlessObsolete(err, was)
	finish(err)
	return err
}

func (r reactions) Rewrite(ctx context.Context, res *resource.Resource, record store.Record) error {
	w := r.write(ctx, res, res.NamespaceOf(record.Key), res.NameOf(record.Key))
	finish := r.audited(w, "patch")
	_, err := w.updateOnce(func(current runtime.Object) (runtime.Object, error) { return res.Storage.Codec.Copy(current), nil })
	err = w.unlessObsolete(err, store.Record{})
	finish(err)
	return err
}

func (r reactions) ApplyStatus(ctx context.Context, res *resource.Resource, was store.Record, status *unstructured.Unstructured, manager string) error {
	w := r.write(ctx, res, res.NamespaceOf(was.Key), res.NameOf(was.Key))
	w.subresource, w.applied = "status", true
	status.SetGroupVersionKind(w.version.Kind())
	status.SetName(w.name)
	status.SetNamespace(w.namespace)
	status.SetResourceVersion(formatRevision(was.Revision))
	_, err := w.updateOnce(func(current runtime.Object) (runtime.Object, error) {
		fields, err := w.fieldManager()
		if err != nil {
			return nil, err
		}
		return fields.Apply(current, status, manager, true)
	})
	return w.unlessObsolete(err, was)
}

func (r reactions) DeleteContent(ctx context.Context, res *resource.Resource, namespace, name string) error {
	w := r.writeOf(ctx, namespaceController, res, namespace, name)
	w.collection = true
	policy := metav1.DeletePropagationBackground
	return w.removeForReaction(&metav1.DeleteOptions{PropagationPolicy: &policy})
}

func (r reactions) DeleteInstance(ctx context.Context, res *resource.Resource, namespace, name string) error {
	w := r.write(ctx, res, namespace, name)
	w.chain = &restadmission.Chain{}
	return w.removeForReaction(&metav1.DeleteOptions{})
}

func (w *write) removeForReaction(options *metav1.DeleteOptions) error {
	w.options = options
	finish := w.audited(w, "delete")
	_, err := w.remove(options)
	err = w.unlessObsolete(err, store.Record{})
	finish(err)
	return err
}

func (r reactions) Amend(ctx context.Context, res *resource.Resource, was store.Record, change func(metav1.Object)) error {
	w := r.collect(ctx, res, was)
	finish := r.audited(w, "patch")
	_, err := w.updateOnce(func(current runtime.Object) (runtime.Object, error) {
		obj := current.DeepCopyObject()
		metadata, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		if metadata.GetResourceVersion() != formatRevision(was.Revision) {
			return nil, lifecycle.ErrConflict
		}
		change(metadata)
		return obj, nil
	})
	err = w.unlessObsolete(err, was)
	finish(err)
	return err
}

func (r reactions) Collect(ctx context.Context, res *resource.Resource, was store.Record, policy metav1.DeletionPropagation) error {
	w := r.collect(ctx, res, was)
	uid, revision := types.UID(gjson.Get(was.Value, "metadata.uid").Str), formatRevision(was.Revision)
	options := &metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &revision}, PropagationPolicy: &policy,
	}
	w.options = options
	finish := r.audited(w, "delete")
	_, err := w.remove(options)
	err = w.unlessObsolete(err, was)
	finish(err)
	return err
}

// Ignores is for Events: the collector of a real server does not watch them.
func (r reactions) Ignores(key string) bool {
	events := r.catalogue.Load().Resource("", "events")
	return events != nil && strings.HasPrefix(key, events.Prefix)
}

func (r reactions) Read(key string) (store.Record, error) { return r.store.Get(key) }
func (r reactions) All() (store.List, error)              { return r.store.List("", store.ListOptions{}) }

func (r reactions) Watch(after int64) (*store.Cursor, error) { return r.store.Watch("", after) }

// write is a write of the server's own. What becomes of a namespace is written by
// its controller.
func (r reactions) write(ctx context.Context, res *resource.Resource, namespace, name string) *write {
	if res == r.namespaces {
		return r.writeOf(ctx, namespaceController, res, namespace, name)
	}
	ctx = apirequest.WithUser(apirequest.WithNamespace(ctx, namespace), controller)
	return &write{Server: r.Server, ctx: ctx, chain: r.Server.chain.Load(), version: res.Storage, namespace: namespace, name: name, manager: controllerManager}
}

// collect is a write of the garbage collector's.
func (r reactions) collect(ctx context.Context, res *resource.Resource, was store.Record) *write {
	return r.writeOf(ctx, garbageCollector, res, res.NamespaceOf(was.Key), res.NameOf(was.Key))
}

// writeOf is a write of a controller's. It goes to the preferred version, as those of
// a program that knows kinds from discovery do.
func (r reactions) writeOf(ctx context.Context, by user.Info, res *resource.Resource, namespace, name string) *write {
	w := &write{Server: r.Server, chain: r.Server.chain.Load(), version: res.Storage, namespace: namespace, name: name, manager: controllersManager}
	w.ctx = apirequest.WithUser(apirequest.WithNamespace(ctx, namespace), by)
	if i := slices.IndexFunc(res.Versions, func(v *resource.Version) bool { return v.Served }); i >= 0 {
		w.version = res.Versions[i]
	}
	return w
}

// unlessObsolete tells a reaction to start over when a write failed because the
// object of the record has changed, or what the write was judged by. Where it has
// not, a conflict or an object that is not found is what admission made up to
// refuse the write.
func (w *write) unlessObsolete(err error, was store.Record) error {
	obsolete := func() error {
		return fmt.Errorf("%w: %w", lifecycle.ErrConflict, apierrors.NewConflict(w.version.Resource.GroupResource(), w.name, errModified))
	}
	var conflict *store.ConflictError
	if errors.Is(err, errOutdated) || errors.As(err, &conflict) || errors.Is(err, lifecycle.ErrConflict) {
		return obsolete()
	}
	if was.Key == "" || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	if is, readErr := w.store.Get(was.Key); readErr != nil || is.Revision != was.Revision {
		return obsolete()
	}
	return fmt.Errorf("refused: %s", err.Error())
}
