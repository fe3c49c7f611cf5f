package rest

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/rest/resource"
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
	return copyOf(res.Storage, obj), record, nil
}

func (r reactions) List(res *resource.Resource, namespace string) ([]store.Record, error) {
	list, err := r.store.List(res.PrefixOf(namespace), store.ListOptions{})
	return list.Records, err
}

func (r reactions) Update(ctx context.Context, res *resource.Resource, subresource string, was store.Record, obj runtime.Object, require ...store.Precondition) error {
	w := r.write(ctx, res, res.NamespaceOf(was.Key), res.NameOf(was.Key))
	w.subresource = subresource
	w.always = require
	_, err := w.updateOnce(func(runtime.Object) (runtime.Object, error) { return obj, nil })
	return w.asConflict(err)
}

func (r reactions) Rewrite(ctx context.Context, res *resource.Resource, record store.Record) error {
	w := r.write(ctx, res, res.NamespaceOf(record.Key), res.NameOf(record.Key))
	_, err := w.updateOnce(func(current runtime.Object) (runtime.Object, error) { return copyOf(res.Storage, current), nil })
	return w.asConflict(err)
}

func (r reactions) Delete(ctx context.Context, res *resource.Resource, namespace, name string) error {
	w := r.write(ctx, res, namespace, name)
	options := &metav1.DeleteOptions{}
	w.options = options
	_, err := w.remove(options)
	return w.asConflict(err)
}

// write is a write of the server's own.
func (r reactions) write(ctx context.Context, res *resource.Resource, namespace, name string) *write {
	ctx = apirequest.WithUser(apirequest.WithNamespace(ctx, namespace), controller)
	return &write{Server: r.Server, ctx: ctx, chain: r.Server.chain.Load(), version: res.Storage, namespace: namespace, name: name, manager: controllerManager}
}

// asConflict makes what sends a client's request back to the start a conflict,
// which sends a reaction back to its own.
func (w *write) asConflict(err error) error {
	var conflict *store.ConflictError
	if errors.Is(err, errOutdated) || errors.As(err, &conflict) {
		return apierrors.NewConflict(w.version.Resource.GroupResource(), w.name, errModified)
	}
	return err
}
