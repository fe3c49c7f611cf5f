package server

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/aggregation"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/internal/flowcontrol"
	"github.com/fakecluster/fakecluster/internal/quota"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// loopback reads and writes as the server itself, and carries out the writes of the controllers. The pipeline calls it
// around the commits of all writes (aroundcommit.go).
type loopback struct {
	state
	pipeline *write.Pipeline
	log      ownWrites

	nodePorts *builtin.NodePorts
	tokens    *authentication.Issuer
	rules     *authorization.Rules
	network   builtin.Network
	services  Services // nil: none

	chain         *admissionChain
	flows         *flowcontrol.Schemas
	aggregate     *aggregation.Registry
	controllers   *controller.Controllers
	quotas        *quota.Quotas
	chargesQuotas bool // the plugin ResourceQuota is on
}

// made returns an Object that calls obj in each attempt. The pipeline may alter what obj returns.
func made(obj func() runtime.Object) write.Made {
	return func(v *resource.Version) (resource.Decoded, error) {
		internal, err := v.Internal(obj())
		return resource.Decoded{Object: internal}, err
	}
}

// create creates an object as the server itself. The namespace of a cluster-scoped object is empty.
func (l *loopback) create(ctx context.Context, res *resource.Resource, namespace string, obj runtime.Object) error {
	w := request(res, namespace, "")
	w.Change = write.Create{Object: made(obj.DeepCopyObject)}
	return l.run(ctx, "create", w)
}

// patchSecret carries out a merge patch of a Secret, as the server itself.
func (l *loopback) patchSecret(ctx context.Context, namespace, name string, patch []byte) error {
	secrets := l.registry.Load().Resource("", "secrets")
	if secrets == nil {
		return apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	w := request(secrets, namespace, name)
	w.Change = write.Patch{Type: types.MergePatchType, Body: patch, Validation: metav1.FieldValidationIgnore}
	return l.run(context.WithoutCancel(ctx), "patch", w)
}

// request returns a request of the server itself. The caller adds the change.
func request(res *resource.Resource, namespace, name string) write.Request {
	return write.Request{Version: written(res), Namespace: namespace, Name: name, Manager: controller.APIServer.Manager()}
}

// written returns the version in which the server itself writes: the storage version, if it is served.
func written(res *resource.Resource) *resource.Version { return controller.APIServer.Version(res) }

// run carries out a write of the server itself.
func (l *loopback) run(ctx context.Context, verb string, w write.Request) error {
	_, err := l.WriteAs(ctx, controller.APIServer, verb, w)
	return err
}

// WriteAs implements controller.Writer.
func (l *loopback) WriteAs(ctx context.Context, by controller.Identity, verb string, w write.Request) (write.Result, error) {
	return l.log.write(apirequest.WithUser(ctx, by.User()), by, verb, w, func(ctx context.Context) (write.Result, error) {
		return l.pipeline.Run(l.inform(ctx, w), l, &w)
	})
}

// stage carries out an update of an object without its commit, and returns the commit; nil: the update changes nothing.
// obj is the object after the update.
func (l *loopback) stage(ctx context.Context, by controller.Identity, w write.Request, obj runtime.Object) (*store.Update, error) {
	ctx, report := l.log.stage(apirequest.WithUser(write.Detached(ctx), by.User()), by, "update", w)
	update, err := l.pipeline.Stage(l.inform(ctx, w), l, &w)
	if err != nil || update == nil {
		return nil, err
	}
	committed := update.Committed
	update.Committed = func(record store.Record) {
		committed(record)
		report(func() (write.Result, error) {
			text, err := view.Text(w.Version, record)
			return write.Result{Version: w.Version, Text: text, Object: obj}, err
		})
	}
	return update, nil
}

// inform adds to the context of a write what strategies of built-in kinds read from it, as a request has it.
func (l *loopback) inform(ctx context.Context, w write.Request) context.Context {
	res := w.Version.Resource
	return apirequest.WithRequestInfo(builtin.WithCluster(ctx, l), &apirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: res.Group, APIVersion: w.Version.Name,
		Namespace: w.Namespace, Resource: res.Names.Plural, Subresource: w.Subresource, Name: w.Name,
	})
}
