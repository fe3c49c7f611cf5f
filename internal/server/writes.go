package server

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// ownWrites carries out the writes that no client asks for: those of the server itself, and of the
// controllers.
type ownWrites struct {
	pipeline  *write.Pipeline
	catalogue *catalogue
	kinds     builtin.Cluster
	log       Log
}

// source makes the object of a write in each attempt. The pipeline may alter what obj returns.
func source(obj func() runtime.Object) write.Source {
	return func(v *resource.Version) (resource.Decoded, error) {
		is, err := v.Internal(obj())
		return resource.Decoded{Object: is}, err
	}
}

// create creates an object as the server itself. The namespace is empty for a cluster-scoped one.
func (o *ownWrites) create(ctx context.Context, res *resource.Resource, namespace string, obj runtime.Object) error {
	w := apiServer.write(res, namespace, "")
	w.Change = write.Create{Object: source(obj.DeepCopyObject)}
	return o.carryOut(ctx, apiServer, "create", w)
}

// patchSecret carries out a merge patch of a Secret, as the server itself.
func (o *ownWrites) patchSecret(ctx context.Context, namespace, name string, patch []byte) error {
	secrets := o.catalogue.Load().Resource("", "secrets")
	if secrets == nil {
		return apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	w := apiServer.write(secrets, namespace, name)
	w.Change = write.Patch{Type: types.MergePatchType, Body: patch, Validation: metav1.FieldValidationIgnore}
	return o.carryOut(context.WithoutCancel(ctx), apiServer, "patch", w)
}

// carryOut carries out a write.
//
// It fails with lifecycle.ErrConflict if the controller has to read the object again. If
// the write names a revision, that happens exactly when the revision is obsolete: any other
// 409 or 404 is the answer of admission, and the write fails with it.
func (o *ownWrites) carryOut(ctx context.Context, by Agent, verb string, w write.Request) error {
	_, err := o.send(ctx, by, verb, w)
	switch {
	case errors.Is(err, lifecycle.ErrConflict):
	case w.Revision != 0 && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)):
		err = fmt.Errorf("refused: %s", err.Error())
	}
	return err
}

// send is carryOut without the translation of admission's answers.
func (o *ownWrites) send(ctx context.Context, by Agent, verb string, w write.Request) (write.Result, error) {
	result, err := o.log.Write(apirequest.WithUser(ctx, by.user), by, verb, w, func(ctx context.Context) (write.Result, error) {
		return o.pipeline.Run(o.inform(ctx, w), w)
	})
	if errors.Is(err, write.ErrObsolete) || errors.Is(err, write.ErrNotServed) {
		err = fmt.Errorf("%w: %w", lifecycle.ErrConflict, err)
	}
	return result, err
}

// stage carries out an update of an object up to its commit, and returns what to commit; nil: the
// update changes nothing. The object is what it makes.
func (o *ownWrites) stage(ctx context.Context, by Agent, w write.Request, obj runtime.Object) (*store.Update, error) {
	ctx, tell := o.log.Stage(apirequest.WithUser(write.Detached(ctx), by.user), by, "update", w)
	update, err := o.pipeline.Stage(o.inform(ctx, w), w)
	if err != nil || update == nil {
		return nil, err
	}
	committed := update.Committed
	update.Committed = func(record store.Record) {
		committed(record)
		tell(func() (write.Result, error) {
			text, err := view.Text(w.Version, record)
			return write.Result{Version: w.Version, Text: text, Object: obj}, err
		})
	}
	return update, nil
}

// stageQuota is quota.Options.Stage.
func (o *ownWrites) stageQuota(ctx context.Context, release bool, w write.Request, rq *corev1.ResourceQuota) (*store.Update, error) {
	by := apiServer
	if release {
		by = quotaController
	}
	w.Manager = by.manager
	return o.stage(ctx, by, w, rq)
}

// inform adds to the context of a write what the code of a kind expects in the context of
// a request.
func (o *ownWrites) inform(ctx context.Context, w write.Request) context.Context {
	of := w.Version.Resource
	return apirequest.WithRequestInfo(builtin.WithCluster(ctx, o.kinds), &apirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: of.Group, APIVersion: w.Version.Name,
		Namespace: w.Namespace, Resource: of.Names.Plural, Subresource: w.Subresource, Name: w.Name,
	})
}
