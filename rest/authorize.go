package rest

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/auth"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// authorize refuses what the user of a request may not do.
func (s *Server) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		by, _ := apirequest.UserFrom(ctx)
		if by == auth.Admin {
			logDecision(ctx, "allow", "")
			next.ServeHTTP(w, req)
			return
		}
		if by != nil {
			observe.From(ctx).User(by.GetName()) // who may be impersonated
		}
		attributes, err := filters.GetAuthorizerAttributes(ctx)
		if err == nil {
			err = s.decide(ctx, attributes, true)
		}
		if err != nil {
			w.Header().Set("X-Content-Type-Options", "nosniff")
			writeError(w, req, err)
			return
		}
		next.ServeHTTP(w, req)
	})
}

// decide decides whether the user of a request may do something, and records that the user
// asked for it. The error is the answer of a real server. With tell, the audit event of the
// request says what was decided.
func (s *Server) decide(ctx context.Context, a authorizer.Attributes, tell bool) error {
	began := time.Now()
	decision, reason, err := s.cluster.Authorizer.Authorize(ctx, a)
	apirequest.TrackAuthorizationLatency(ctx, time.Since(began))
	if tell {
		observe.From(ctx).Decision(decision == authorizer.DecisionAllow, reason)
	}
	s.access.Note(a, decision == authorizer.DecisionAllow)
	switch {
	case decision == authorizer.DecisionAllow:
		if tell {
			logDecision(ctx, "allow", reason)
		}
		return nil
	case err != nil:
		if tell {
			audit.AddAuditAnnotation(ctx, "authorization.k8s.io/reason", "internal error")
		}
		return apierrors.NewInternalError(err)
	}
	if tell {
		logDecision(ctx, "forbid", reason)
	}
	return responsewriters.ForbiddenStatusError(a, reason)
}

// logDecision says in the event of a request, if it has one, whether its user may make it.
func logDecision(ctx context.Context, decision, reason string) {
	if audit.AuditContextFrom(ctx) != nil {
		audit.AddAuditAnnotations(ctx, "authorization.k8s.io/decision", decision, "authorization.k8s.io/reason", reason)
	}
}

// mayCreate decides whether an update or an apply may create the object. The filter has only
// decided about update or patch.
func (s *Server) mayCreate(ctx context.Context, of schema.GroupVersionResource, namespace, name string) error {
	by, ok := apirequest.UserFrom(ctx)
	if !ok || by == auth.Admin {
		return nil
	}
	path := ""
	if info, ok := apirequest.RequestInfoFrom(ctx); ok {
		path = info.Path
	}
	return s.decide(ctx, authorizer.AttributesRecord{
		User: by, Verb: "create", ResourceRequest: true, Path: path,
		APIGroup: of.Group, APIVersion: of.Version, Resource: of.Resource, Namespace: namespace, Name: name,
	}, false)
}
