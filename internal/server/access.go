package server

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// Access decides what users may do, and records what they have requested.
type Access struct {
	authorization.Authorizer
	Requested *authorization.Access
}

// Decide returns the response of a real server if the user of a request may not do something, or nil. It reports the
// decision, and records that the user requested it.
func (d Access) Decide(ctx context.Context, a authorizer.Attributes, o *observe.Request) error {
	began := time.Now()
	decision, reason, err := d.Authorize(ctx, a)
	apirequest.TrackAuthorizationLatency(ctx, time.Since(began))
	allowed := decision == authorizer.DecisionAllow
	d.Requested.Note(a, allowed)
	o.Decision(allowed, reason, err)
	switch {
	case allowed:
		return nil
	case err != nil:
		return apierrors.NewInternalError(err)
	}
	return responsewriters.ForbiddenStatusError(a, reason)
}

// mayCreate decides whether an update or an apply may create the object. The filter of the request has only
// decided about update or patch, and only that decision is reported.
func (d Access) mayCreate(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) error {
	by, ok := apirequest.UserFrom(ctx)
	if !ok || by == authentication.Admin {
		return nil
	}
	path := ""
	if info, ok := apirequest.RequestInfoFrom(ctx); ok {
		path = info.Path
	}
	return d.Decide(ctx, authorizer.AttributesRecord{
		User: by, Verb: "create", ResourceRequest: true, Path: path,
		APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource, Namespace: namespace, Name: name,
	}, &observe.Request{})
}
