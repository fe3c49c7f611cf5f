package aggregation

import (
	"net/http"
	"net/url"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/proxy"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	apiserverproxy "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/streaming/pkg/httpstream"
)

// unavailable is the response for a server that cannot be reached.
const unavailable = "service unavailable"

// ServeHTTP forwards a request to the server. It implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s = s.answering()
	if s = s.rechecked(req); !s.isAvailable() {
		http.Error(w, unavailable, http.StatusServiceUnavailable)
		return
	}
	by, ok := apirequest.UserFrom(req.Context())
	if !ok {
		http.Error(w, "missing user", http.StatusInternalServerError)
		return
	}
	t, err := s.transport()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	host, err := s.registry.hostOf(s.APIService.Spec.Service)
	if err != nil {
		http.Error(w, unavailable, http.StatusServiceUnavailable)
		return
	}
	location := &url.URL{Scheme: "https", Host: host, Path: req.URL.Path, RawQuery: req.URL.Query().Encode()}
	forwarded, cancel := apiserverproxy.NewRequestForProxy(location, req)
	defer cancel()
	forwarded.Header.Del("Authorization") // not for the other server
	upgrade := httpstream.IsUpgradeRequest(req)
	if upgrade {
		// An upgrade dials without the round tripper, so set the headers first.
		transport.SetAuthProxyHeaders(forwarded, by.GetName(), by.GetUID(), by.GetGroups(), by.GetExtra())
		if h := Hijackable(w); h != nil {
			w = h
		}
	}
	rt := transport.NewAuthProxyRoundTripper(by.GetName(), by.GetUID(), by.GetGroups(), by.GetExtra(), t)
	handler := proxy.NewUpgradeAwareHandler(location, rt, true, upgrade, responder{w})
	handler.RejectForwardingRedirects = true
	// The library only logs that a client or the server has closed its connection.
	handler.ServeHTTP(w, forwarded.WithContext(klog.NewContext(forwarded.Context(), logr.Discard())))
}

// isAvailable reports whether the server answered at its last check.
func (s *Server) isAvailable() bool {
	return helper.IsAPIServiceConditionTrue(s.APIService, apiregistrationv1.Available)
}

// rechecked checks a server that was not available at its last check again, and returns its current state. Only one
// request checks at a time: others may come from the server itself.
func (s *Server) rechecked(req *http.Request) *Server {
	if s.isAvailable() {
		return s
	}
	r, name := s.registry, s.APIService.Name
	r.mu.Lock()
	busy := r.checking[name]
	r.checking[name] = true
	r.mu.Unlock()
	if busy {
		return s
	}
	defer func() {
		r.mu.Lock()
		delete(r.checking, name)
		r.mu.Unlock()
	}()
	r.recheck(req.Context(), name)
	if server := r.current.Load().servers[name]; server != nil {
		return server
	}
	return s
}

// responder answers requests for a server that cannot be reached.
type responder struct{ w http.ResponseWriter }

// Error implements proxy.ErrorResponder.
func (r responder) Error(_ http.ResponseWriter, _ *http.Request, err error) {
	http.Error(r.w, err.Error(), http.StatusServiceUnavailable)
}

// Hijackable returns the first http.Hijacker among a writer and those that it wraps, or nil.
func Hijackable(w http.ResponseWriter) http.ResponseWriter {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return w
		}
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil
		}
		w = outer.Unwrap()
	}
}
