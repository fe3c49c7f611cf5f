package fakecluster

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/serverflags"
)

// refuseBrowsers refuses requests that a web page in a browser on this machine could send to the
// socket of a cluster. A page does not have the token, so this is a second line of defence. A
// browser sends the origin of a page in headers that the page cannot change:
//
//   - A request that a page of another site sends has an Origin of another host, or a
//     Sec-Fetch-Site that says so. It does not have the header Authorization: for that a browser
//     first sends OPTIONS, which is rejected. Programs do send both, for example for a WebSocket.
//   - A page whose own name has been pointed to this machine (DNS rebinding) sends that name
//     as the Host.
//
// Other programs call the cluster by an address or name of this machine, also through kubectl
// proxy or a tunnel, and send no Sec-Fetch-Site.
//
// With anyName, the certificate comes from WithAPIServerFlags and the cluster may be called by any name, because a
// browser refuses a certificate for another name. Pages of the allowed origins may
// send requests.
func refuseBrowsers(anyName bool, allowedOrigins []string, next http.Handler) http.Handler {
	welcome := origins(allowedOrigins)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if why := foreign(req, anyName, welcome); why != "" {
			status := apierrors.NewForbidden(schema.GroupResource{}, "", fmt.Errorf("%s", why)).Status()
			status.Message, status.Details = "fakecluster serves programs on this machine only: "+why, nil
			status.Kind, status.APIVersion = "Status", "v1"
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(status) // the client may have gone
			return
		}
		next.ServeHTTP(w, req)
	})
}

// foreign returns the reason why a request comes from a page in a browser, or the empty text.
func foreign(req *http.Request, anyName bool, welcome []*regexp.Regexp) string {
	if !anyName && !isOwnHost(req.Host) {
		return fmt.Sprintf("%.100q is not a name of this machine", req.Host)
	}
	from := req.Header.Get("Origin")
	if from != "" && slices.ContainsFunc(welcome, func(pattern *regexp.Regexp) bool { return pattern.MatchString(from) }) {
		return ""
	}
	if site := req.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
		return "a page of another site sends the request"
	}
	if req.Header.Get("Authorization") != "" {
		return ""
	}
	for _, origin := range req.Header.Values("Origin") {
		if from, err := url.Parse(origin); err != nil || from.Host != req.Host {
			return "a page of another site sends the request"
		}
	}
	return ""
}

// origins compiles the patterns of --cors-allowed-origins, which have been checked before.
func origins(patterns []string) []*regexp.Regexp {
	var compiled []*regexp.Regexp
	for _, p := range patterns {
		compiled = append(compiled, regexp.MustCompile(p))
	}
	return compiled
}

// ownNames are the names in a cluster's certificate.
var ownNames = []string{"localhost", serverflags.LoopbackName, "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}

// isOwnHost reports whether a Host header names this machine, by an address that no DNS can point
// elsewhere or by a name of the cluster's certificate.
func isOwnHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if ip := net.ParseIP(name); ip != nil {
		return ip.IsLoopback()
	}
	return name == "" || slices.Contains(ownNames, strings.ToLower(name))
}
