package rest

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// authorize refuses what the user of a request may not do.
func (s *Server) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		observed := observe.From(ctx)
		by, _ := apirequest.UserFrom(ctx)
		if by == authentication.Admin {
			observed.Exempt()
			next.ServeHTTP(w, req)
			return
		}
		if by != nil {
			observed.Impersonated(by)
		}
		attributes, err := filters.GetAuthorizerAttributes(ctx)
		if err == nil {
			err = s.decide(ctx, attributes, observed)
		}
		if err != nil {
			w.Header().Set("X-Content-Type-Options", "nosniff")
			writeError(w, req, err)
			return
		}
		next.ServeHTTP(w, req)
	})
}

// decide returns the response of a real server if the user of a request may not do something, or nil. It reports the
// decision, and records that the user requested it.
func (s *Server) decide(ctx context.Context, a authorizer.Attributes, o *observe.Request) error {
	began := time.Now()
	decision, reason, err := s.cluster.Authorizer.Authorize(ctx, a)
	apirequest.TrackAuthorizationLatency(ctx, time.Since(began))
	allowed := decision == authorizer.DecisionAllow
	s.access.Note(a, allowed)
	o.Decision(allowed, reason, err)
	switch {
	case allowed:
		return nil
	case err != nil:
		return apierrors.NewInternalError(err)
	}
	return responsewriters.ForbiddenStatusError(a, reason)
}

// mayCreate decides whether an update or an apply may create the object. The filter has only
// decided about update or patch, and only that decision is reported.
func (s *Server) mayCreate(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) error {
	by, ok := apirequest.UserFrom(ctx)
	if !ok || by == authentication.Admin {
		return nil
	}
	path := ""
	if info, ok := apirequest.RequestInfoFrom(ctx); ok {
		path = info.Path
	}
	return s.decide(ctx, authorizer.AttributesRecord{
		User: by, Verb: "create", ResourceRequest: true, Path: path,
		APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource, Namespace: namespace, Name: name,
	}, &observe.Request{})
}
