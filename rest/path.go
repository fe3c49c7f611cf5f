package rest

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// parsePath reads out of the path what a request asks for, and puts it into the context as
// upstream's RequestInfo.
func parsePath(next http.Handler) http.Handler {
	paths := &apirequest.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, err := paths.NewRequestInfo(req)
		if err != nil {
			responsewriters.InternalError(w, req, fmt.Errorf("failed to create RequestInfo: %w", err))
			return
		}
		next.ServeHTTP(w, req.WithContext(apirequest.WithRequestInfo(req.Context(), info)))
	})
}

// infoOf is what parsePath has found out.
func infoOf(req *http.Request) *apirequest.RequestInfo {
	info, _ := apirequest.RequestInfoFrom(req.Context())
	return info
}
