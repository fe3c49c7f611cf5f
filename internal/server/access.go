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

// Access authorizes requests, and records what users have requested.
type Access struct {
	authorization.Authorizer
	Requested *authorization.Access
}

// Decide returns the Forbidden error of a real server if the user of a request may not do what the attributes describe;
// nil: the user may. It reports the decision to o, and records the request.
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

// mayCreate returns an error if the user of an update or an apply may not create the object. The filter has authorized
// only the update or patch; only its decision is reported.
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
