package rest

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
)

// parsePath puts the RequestInfo of the path into the context of a request.
func parsePath(next http.Handler) http.Handler {
	paths := &apirequest.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, err := paths.NewRequestInfo(quiet(req))
		if err != nil {
			responsewriters.InternalError(w, req, fmt.Errorf("failed to create RequestInfo: %w", err))
			return
		}
		contextOf(req).info = info
		next.ServeHTTP(w, req)
	})
}

// longQuery is the length from which a query that cannot be parsed is not logged.
const longQuery = 2048

// quiet removes a long query that upstream cannot parse as list options, because upstream would log the whole
// query, and a selector may have a megabyte. It keeps the parameter watch, which is all that upstream reads
// besides list options.
func quiet(req *http.Request) *http.Request {
	if len(req.URL.RawQuery) < longQuery {
		return req
	}
	query := req.URL.Query()
	if metainternalversionscheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, &internalversion.ListOptions{}) == nil {
		return req
	}
	parsed := *req.URL
	parsed.RawQuery = ""
	if watch := query["watch"]; len(watch) > 0 && watch[0] != "0" && !strings.EqualFold(watch[0], "false") {
		parsed.RawQuery = "watch=true"
	}
	brief := *req
	brief.URL = &parsed
	return &brief
}

// infoOf returns the RequestInfo that parsePath has put into the context.
func infoOf(req *http.Request) *apirequest.RequestInfo { return contextOf(req).info }

// isLongRunning reports whether a request does not have a time limit: watches, and connections to what
// runs in a cluster. The lists are kube-apiserver's.
var isLongRunning = genericfilters.BasicLongRunningRequestCheck(
	sets.NewString("watch", "proxy"), sets.NewString("attach", "exec", "proxy", "log", "portforward"))

// isHealthRoot reports whether a path is that of all checks.
func isHealthRoot(path string) bool {
	return path == "/healthz" || path == "/livez" || path == "/readyz"
}
